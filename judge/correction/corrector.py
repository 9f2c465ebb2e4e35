"""Correct an answer that FAILs, sentence by sentence, until its judge passes what is left.

Sentences that the judge finds unsupported are taken out, or rewritten by a chat model; the answer
is then judged again, and what is unsupported in it now is taken out. What cannot be brought to
pass is withheld.
"""

from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any

from ..backends.base import BackendError, ChatBackend, ChatReply, ChatRequest
from ..backends.replies import usage_of
from ..contract.correction import Change, Correction, Outcome
from ..contract.types import Example, JudgeError, Range, Usage, Verdict
from ..judges.prompted.objects import keyed_schema, read_object, read_text
from ..prompts import messages
from ..text import Piece, claims_nothing, forms_of
from ..text.edits import Edited, annotate, edit, split_units

UNSUPPORTED = "[unsupported]"
NOTHING_LEFT = "The documents do not support any part of the answer."
_LED_TO_NOTHING = "nothing that it leads to, or belongs to, is left"
_LEAD = 150  # characters before a sentence that a judge of whole answers is shown with it

Examples = Sequence[Example]
Correcting = Generator[Examples, Sequence[Verdict], Correction]
"""A correction: examples to judge are yielded, and their verdicts sent back."""


def correct(
    example: Example,
    before: Verdict | None = None,
    model: ChatBackend | None = None,
    *,
    marking: bool = False,
) -> Correcting:
    """Correct one answer, of which `before` is the verdict where it is judged already.

    `model` writes sentences in the place of unsupported ones; without one they are taken out, or
    marked with `marking`.
    """
    if before is None:
        (before,) = yield [example]
    units = split_units(example.answer)
    changes: dict[int, str] = {}
    reasons: dict[int, str] = {}
    usage, after, edited = Usage(), None, edit(example.answer, units, {})
    outcome: Outcome = "unchanged" if before.score else "unscored"
    if before.score == "FAIL":
        wrong = yield from _find_wrong(example, units, before)
        changes, reasons = dict.fromkeys(wrong, ""), dict.fromkeys(wrong, FOUND)
        if marking:
            outcome, edited = "annotated", annotate(example.answer, units, wrong, UNSUPPORTED)
        else:
            if model is not None and wrong:
                changes, reasons, usage = rewrite(model, example, units, wrong, before)
            outcome, edited, after = yield from _filter(example, units, changes, reasons)
    held = {form for document in example.context for form in forms_of(document)}
    listed = []
    for number, ((start, end, text), place) in enumerate(zip(units, edited.ranges, strict=True)):
        said: dict[str, Any] = {"action": "kept", "reason": reasons.get(number)}
        if place is None or outcome == "nothing_left":
            said = {"action": "removed", "reason": reasons.get(number, _LED_TO_NOTHING)}
        elif number in changes:
            said["action"] = "marked" if marking else "rewritten"
            said["new"] = edited.text[slice(*place)]
            said["lost"] = tuple(sorted((forms_of(text) & held) - forms_of(edited.text)))
        listed.append(Change(start=start, end=end, text=text, **said))
    return Correction(
        outcome=outcome,
        original=example.answer,
        answer=NOTHING_LEFT if outcome == "nothing_left" else edited.text,
        changes=tuple(listed),
        before=before,
        after=after,
        usage=usage,
    )


def _filter(
    example: Example, units: Sequence[Piece], changes: dict[int, str], reasons: dict[int, str]
) -> Generator[Examples, Sequence[Verdict], tuple[Outcome, Edited, Verdict | None]]:
    """Take out what is unsupported in the changed answer, until it passes or nothing is left."""
    after = None
    while True:
        edited = edit(example.answer, units, changes)
        left = [unit for unit, place in zip(units, edited.ranges, strict=True) if place]
        if not changes or all(claims_nothing(unit.text) for unit in left):
            return "nothing_left", edited, after
        trial = _with_answer(example, edited.text)
        (after,) = yield [trial]
        if after.score == "PASS":
            return "rewritten" if any(changes.values()) else "filtered", edited, after
        shown = [Piece(*(place or (0, 0)), "") for place in edited.ranges]
        wrong = yield from _find_wrong(trial, shown, after)
        if not wrong:
            return "nothing_left", edited, after
        for number in wrong:
            if new := changes.get(number):
                reasons[number] = f"the judge finds the rewrite unsupported: “{new}”"
            changes[number] = ""
            reasons.setdefault(number, FOUND)


def run(work: Correcting, judge: Callable[[Examples], Sequence[Verdict]]) -> Correction:
    """Run a correction through by a judge."""
    verdicts: Any = None
    while True:
        try:
            verdicts = judge(work.send(verdicts))
        except StopIteration as end:
            correction: Correction = end.value
            return correction


async def arun(
    work: Correcting, judge: Callable[[Examples], Awaitable[Sequence[Verdict]]]
) -> Correction:
    """Run a correction through by a judge that is waited for."""
    verdicts: Any = None
    while True:
        try:
            examples = work.send(verdicts)
        except StopIteration as end:
            correction: Correction = end.value
            return correction
        verdicts = await judge(examples)


def _find_wrong(
    example: Example, units: Sequence[Piece], verdict: Verdict
) -> Generator[Examples, Sequence[Verdict], list[int]]:
    """Return the numbers of unsupported sentences.

    Those that the verdict names, or that hold what it marks; of a judge of whole answers, those
    that do not pass by themselves.
    """
    named: Sequence[Range] = [one for one in verdict.sentences if one.label == "UNSUPPORTED"]
    named = named or verdict.spans
    if named or verdict.score is None:
        places = [(number, unit.start, unit.end) for number, unit in enumerate(units)]
        return [
            n for n, start, end in places if any(o.start < end and start < o.end for o in named)
        ]
    texts = [example.answer[unit.start : unit.end] for unit in units]
    claims = [number for number, text in enumerate(texts) if not claims_nothing(text)]
    if len(claims) < 2:
        return claims
    alone = []
    for number in claims:
        lead = example.answer[max(0, units[number].start - _LEAD) : units[number].start]
        question = {"question": f"{example.question}\n{lead}".strip()}
        alone.append(_with_answer(example, texts[number]).model_copy(update=question))
    verdicts = yield alone
    return [n for n, one in zip(claims, verdicts, strict=True) if one.score != "PASS"]


def _with_answer(example: Example, answer: str) -> Example:
    """Return the example with another answer, without the gold of its own."""
    return example.model_copy(update={"answer": answer, "label": None, "spans": None})


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
    old, new, *others = map(forms_of, (unit, said, *stays))
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
