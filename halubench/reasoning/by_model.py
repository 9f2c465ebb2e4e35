"""Traces by a chat model: prompts that ask what the paper's ask (appendix A.1), and a third.

The model is told what is wrong with an answer, and is to explain it to a reader who is not: a trace
that gives away what it was told is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from moonlynx.judge.backends.base import ChatRequest
from moonlynx.judge.batch.chat_tasks import Fault, read_reply
from moonlynx.judge.contract.types import BadInput
from moonlynx.judge.text import body_start

from ..prompts import Prompt, load_prompt, messages
from ..records import QARow
from .target import with_reasoning

FAITHFUL, CHANGED, ANNOTATED = KINDS = ("faithful", "changed", "annotated")
_LIKELY_TOKENS = 200
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"REASONING": {"type": "array", "items": {"type": "string"}, "minItems": 1}},
    "required": ["REASONING"],
    "additionalProperties": False,
}


class _Reply(BaseModel):
    REASONING: list[str] | str


@dataclass(frozen=True)
class Tracing:
    """Has it explained why a row's label holds.

    A PASS row is explained from what answer and context have in common; a FAIL row from its change
    and faithful answer where it has them (`change`, `gold`), else from its unsupported words and
    the note on them (`edits`, `annotation`).
    """

    max_tokens: int = 1_024  # of a reply
    # prompts by kind of row, one of KINDS, in place of the package's
    own: Mapping[str, Prompt] = field(default_factory=dict)

    @property
    def prompts(self) -> tuple[str, ...]:
        """Return the names of its prompts."""
        return tuple(self._prompt(kind).name for kind in KINDS)

    def _prompt(self, kind: str) -> Prompt:
        return self.own.get(kind) or load_prompt(f"trace-{kind}-v1")

    def request(self, row: QARow, attempt: int) -> ChatRequest:
        """Ask why the label holds, at temperature 0 (appendix A.1) where nothing went wrong before.

        Raises:
            BadInput: the row has no label, or is FAIL and nothing says why.
        """
        kind, known = _known(row)
        return ChatRequest(
            messages(
                self._prompt(kind),
                QUESTION=row.question,
                CONTEXT="\n\n".join(row.context),
                **known,
                ANSWER=row.answer,
            ),
            schema=_SCHEMA,
            max_tokens=self.max_tokens,
            temperature=1.0 if attempt else 0.0,
            seed=attempt,
        )

    def likely_tokens(self, row: QARow) -> float:  # noqa: ARG002 (traces are of about one length)
        """Estimate the reply's length."""
        return _LIKELY_TOKENS

    def read(self, row: QARow, text: str) -> QARow | Fault:
        """Return the row with its trace; bullets written as one string are read, too."""
        reply = read_reply(text, _Reply)
        if isinstance(reply, Fault):
            return reply
        said = reply.REASONING
        if isinstance(said, str):
            said = [line[body_start(line) :] for line in said.splitlines()]
        return with_reasoning(row, said)


def _known(row: QARow) -> tuple[str, Mapping[str, str]]:
    """Choose the kind of prompt, and what it tells beside question, context and answer."""
    if row.label == "PASS":
        return FAITHFUL, {}
    if row.label == "FAIL" and row.gold and row.change:
        return CHANGED, {"CHANGE_MADE": row.change, "GOLD_ANSWER": row.gold}
    note = row.annotation or row.change
    if row.label == "FAIL" and note:
        spans = [row.answer[edit.start : edit.end] for edit in row.edits if edit.document is None]
        marked = {"UNSUPPORTED_SPAN": "\n".join(spans)} if spans else {}
        return ANNOTATED, {**marked, "ANNOTATION": note}
    missing = "change or annotation" if row.label else "label"
    raise BadInput("bad_input", f"row {row.id}, {missing}", "is missing; a trace explains it")
