"""Perturbation by a chat model: the faithful answer, subtly changed (Lynx paper, appendix A.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from moonlynx.judge.backends.base import ChatRequest
from moonlynx.judge.batch.chat_tasks import Fault, read_reply
from moonlynx.judge.contract.types import BadInput
from moonlynx.judge.decision.cost import estimate_tokens

from ..diff import edits_between
from ..prompts import messages
from ..records import QARow
from .answers import verify_answer

PROMPT = "perturb-v1"
KIND = "model"
_CHANGE_TOKENS = 40  # that naming the change takes, with the reply's keys
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"new_answer": {"type": "string"}, "change_made": {"type": "string"}},
    "required": ["new_answer", "change_made"],
    "additionalProperties": False,
}


class _Reply(BaseModel):
    new_answer: str
    change_made: str


@dataclass(frozen=True)
class Perturbation:
    """Has a faithful answer perturbed; each new answer is verified before it becomes a row."""

    max_tokens: int = 1_024
    prompts: tuple[str, ...] = (PROMPT,)

    def request(self, row: QARow, attempt: int) -> ChatRequest:
        """Ask for a FAIL answer, at temperature 0 (appendix A.1) where nothing went wrong before.

        Raises:
            BadInput: the row's answer is hallucinated already.
        """
        if row.label == "FAIL":
            message = "is FAIL already; give rows that are PASS or have no label"
            raise BadInput("bad_input", f"row {row.id}, label", message)
        return ChatRequest(
            messages(
                PROMPT,
                QUESTION=row.question,
                GOLD_ANSWER=row.answer,
                EVIDENCE_TEXT="\n\n".join(row.excerpt or row.context),
            ),
            schema=_SCHEMA,
            max_tokens=self.max_tokens,
            temperature=1.0 if attempt else 0.0,
            seed=attempt,
        )

    def likely_tokens(self, row: QARow) -> float:
        """Estimate the reply's length: the answer again, and the change in words."""
        return estimate_tokens(row.answer) + _CHANGE_TOKENS

    def read(self, row: QARow, text: str) -> QARow | Fault:
        """Build the FAIL row, with the faithful answer as `gold`."""
        reply = read_reply(text, _Reply)
        if isinstance(reply, Fault):
            return reply
        change = reply.change_made.strip()
        if not change:
            return Fault(reason="unparsed", message="change_made: holds no text")
        answer = verify_answer(row, reply.new_answer.strip())
        if isinstance(answer, Fault):
            return answer
        made = {
            "answer": answer,
            "label": "FAIL",
            "gold": row.answer,
            "kind": KIND,
            "change": change,
            "edits": edits_between(row.answer, answer),
        }
        return QARow(**dict(row) | made)
