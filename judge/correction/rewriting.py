"""Ask a chat model for sentences in the place of unsupported ones, and refuse what is none."""

from __future__ import annotations

from collections.abc import Sequence

from ..backends.base import BackendError, ChatBackend, ChatReply, ChatRequest
from ..backends.replies import usage_of
from ..contract.types import Example, JudgeError, Usage, Verdict
from ..judges.prompted.objects import keyed_schema, read_object, read_text
from ..prompts import messages
from ..text import Piece, content_tokens

FOUND = "the judge finds it unsupported"
PROMPT = "correct-sentence-v1"
_SCHEMA = keyed_schema({"sentence": {"type": "string"}})
_TOKENS = 200
_LONGER = 60  # characters that a sentence may have more than the one it replaces


def rewrite(
    model: ChatBackend,
    example: Example,
    units: Sequence[Piece],
    wrong: Sequence[int],
    verdict: Verdict,
) -> tuple[dict[int, str], dict[int, str], Usage]:
    """Return sentences for those that are wrong, "" where one is refused; why; and the cost.

    Raises:
        BackendError: the model cannot be reached: no reason to take sentences out.
    """
    told = [{"sentence": units[n].text, "reason": reason_of(verdict, units[n])} for n in wrong]
    replies = model.complete(
        [ChatRequest(messages(PROMPT, example, **one), _SCHEMA, _TOKENS) for one in told]
    )
    changes: dict[int, str] = {}
    reasons: dict[int, str] = {}
    stays = [unit.text for number, unit in enumerate(units) if number not in wrong]
    for number, reply in zip(wrong, replies, strict=True):
        if reply.error is not None and reply.error.code in ("backend", "timeout"):
            raise BackendError(f"{model.name}: {reply.error.message}")
        changes[number], refused = _read(reply, units[number].text, stays)
        reasons[number] = refused or FOUND
        stays.append(changes[number])
    return changes, reasons, usage_of(replies)


def reason_of(verdict: Verdict, unit: Piece) -> str:
    """Return which words of a sentence the judge marked, where it marked some."""
    marked = [f"“{one.text}”" for one in verdict.spans if unit.start <= one.start < unit.end]
    return f"The documents do not support: {'; '.join(marked) or 'the sentence as a whole'}"


def _read(reply: ChatReply, unit: str, stays: Sequence[str]) -> tuple[str, str | None]:
    """Return the sentence of a reply; "" and why, if it cannot stand beside those that stay."""
    said = read_text(read_object(reply), "sentence")
    if isinstance(said, JudgeError):
        return "", f"no rewrite: {said.message}"
    said = " ".join(said.split())
    old, new, *others = (
        {token.form for token in content_tokens(text)} for text in (unit, said, *stays)
    )
    if not new:
        return "", "the model had nothing to put in its place"
    for refused, why in (
        (not old & new, "has no word in common with it"),
        (len(said) > len(unit) + max(_LONGER, len(unit) // 2), "is much longer"),
        (any(new <= other for other in others), "says what another sentence says"),
    ):
        if refused:
            return "", f"the rewrite {why}: “{said}”"
    return said, None
