"""Perturbation by a chat model: the faithful answer, subtly changed (Lynx paper, appendix A.1).

Such an answer is verified too: a small change, still an answer, and unsupported.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from moonlynx.judge.backends.base import ChatRequest
from moonlynx.judge.batch.chat_tasks import Fault, read_reply
from moonlynx.judge.contract.types import BadInput
from moonlynx.judge.decision.cost import estimate_tokens
from moonlynx.judge.text import claims_nothing, split_sentences, words

from ..leaks import find_leak
from ..overlap import differences, edits_between
from ..prompts import Prompt, load_prompt, messages
from ..records import QARow
from .figures import FIGURE, value_of
from .source import NUMBER_WORDS, Source, content_of, read
from .types import Draft, Edit, Kind, Rejections
from .verify import realise

_OPENING = re.compile(r"\s*(?:yes|no|maybe)\b", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|no|never|none|neither|nor|without)\b|n['’]t\b", re.IGNORECASE)
_WORD_BEFORE = re.compile(r"\S+\s*$")
_WORD_BEHIND = re.compile(r"\s*\S+")
_LEAST_LIMIT = 8  # words that may be changed however short the answer is
_MOST_CHANGED = 0.4  # of the faithful answer's words
_ALL_HELD = 0.8  # of an addition's content, by weight, in one sentence of the context
_SHORT = 5  # content words; an answer of no more says little without its question
_ASKED = 0.6  # of the question's content, in the sentence that would make a short answer right

PROMPT = "perturb-v1"
KIND = "model"
_CHANGE_TOKENS = 40  # that naming the change takes, with the reply's keys
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"new_answer": {"type": "string"}, "change_made": {"type": "string"}},
    "required": ["new_answer", "change_made"],
    "additionalProperties": False,
}


def verify_answer(row: QARow, answer: str) -> str | Fault:
    """Return the hallucinated answer, its articles fixed; a fault where it must not be used."""
    gold = row.answer
    edits = tuple(
        Edit(each.old_start, each.old_end, answer[each.new_start : each.new_end])
        for each in differences(gold, answer)
    )
    if not edits:
        return Fault(reason="same", message=answer)
    source = read(row.context)
    reason = (
        _no_answer(gold, answer)
        or _rewritten(gold, edits)
        or _says_the_same(gold, edits)
        or _held(row.question, gold, edits, source)
    )
    if reason is None:
        rejections = Rejections()
        draft = Draft(_kind(gold, edits), _with_text(gold, edits))
        if change := realise(gold, draft, source, rejections):
            return change.text
        ((_, reason),) = rejections
    return Fault(reason=reason, message=answer)


def _kind(gold: str, edits: Sequence[Edit]) -> Kind:
    """Return the rule whose checks fit; "number" stands for values of any kind."""
    opening = _OPENING.match(gold)
    if opening and edits[0].start < opening.end():
        return "yes-no"
    if all(0 < edit.start == edit.end for edit in edits):
        return "invented-clause"
    if len(edits) == 1 and gold[edits[0].start].isupper() and edits[0].new[:1].isupper():
        return "entity"
    return "number"


def _with_text(gold: str, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Extend a lone deletion by the word beside it, so that new text takes its place."""
    if len(edits) > 1 or edits[0].new:
        return edits
    start, end, _ = edits[0]
    if before := _WORD_BEFORE.search(gold[:start]):
        return (Edit(before.start(), end, before.group()),)
    behind = _WORD_BEHIND.match(gold, end)
    stop = behind.end() if behind else end
    return (Edit(start, stop, gold[end:stop]),)


def _no_answer(gold: str, answer: str) -> str | None:
    """Refuse what is no answer of the same form, or speaks of being wrong."""
    if find_leak([answer], about=gold):
        return "names the task"
    if all(claims_nothing(sentence.text) for sentence in split_sentences(answer)):
        return "no answer"
    if bool(_OPENING.match(gold)) != bool(_OPENING.match(answer)):
        return "another form"
    if FIGURE.fullmatch(gold.strip()) and not any(
        word.form[0].isdigit() or word.form in NUMBER_WORDS for word in words(answer)
    ):
        return "another form"
    return None


def _rewritten(gold: str, edits: Sequence[Edit]) -> str | None:
    changed = sum(max(_count(gold[edit.start : edit.end]), _count(edit.new)) for edit in edits)
    limit = max(_LEAST_LIMIT, _MOST_CHANGED * _count(gold))
    return "not minimal" if changed > limit else None


def _count(text: str) -> int:
    return sum(1 for _ in words(text))


def _says_the_same(gold: str, edits: Sequence[Edit]) -> str | None:
    """Refuse what takes away and adds nothing, and figures that are the old ones, or round them."""
    if not any(edit.new.strip() for edit in edits):
        removed = " ".join(gold[edit.start : edit.end] for edit in edits)
        return None if _NEGATION.search(removed) else "only shortened"
    for edit in edits:
        old, new = FIGURE.search(gold[edit.start : edit.end]), FIGURE.search(edit.new)
        if not (old and new and _around(old) == _around(new)):
            return None
        decimals = len(new["figure"].partition(".")[2])
        if round(value_of(old["figure"]), decimals) != value_of(new["figure"]):
            return None
    return "same figure"


def _around(figure: re.Match[str]) -> tuple[str, str]:
    """Return the words around a figure, which say what it measures."""
    text = figure.string
    return text[: figure.start("figure")].strip(), text[figure.end("figure") :].strip()


def _held(question: str, gold: str, edits: Sequence[Edit], source: Source) -> str | None:
    """Refuse an addition that the context makes too, and a short answer that is right as well."""
    asked, right = content_of(question), content_of(gold)
    for edit in edits:
        content = content_of(edit.new)
        near = source.best(content) if edit.start == edit.end else None
        if near and source.coverage(content, near) >= _ALL_HELD:
            return "stated"
        if content and len(right) <= _SHORT:
            for holder in source.holding(content):
                if not right <= holder.content and source.coverage(asked, holder) >= _ASKED:
                    return "stated"
    return None


class _Reply(BaseModel):
    new_answer: str
    change_made: str


@dataclass(frozen=True)
class Perturbation:
    """Has a faithful answer perturbed; each new answer is verified before it becomes a row."""

    max_tokens: int = 1_024
    prompt: Prompt = field(default_factory=lambda: load_prompt(PROMPT))

    @property
    def prompts(self) -> tuple[str, ...]:
        """Return the names of its prompts."""
        return (self.prompt.name,)

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
                self.prompt,
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
