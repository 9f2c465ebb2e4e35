"""Correct an answer that FAILs, sentence by sentence, until its judge passes what is left.

Sentences that the judge finds unsupported are taken out, or rewritten by a chat model; the answer
is then judged again, and what is unsupported in it now is taken out. What cannot be brought to
pass is withheld.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence

from ..backends.base import ChatBackend
from ..contract.base import Judge
from ..contract.correction import Change, Correction, Outcome
from ..contract.steps import Ask, finish
from ..contract.types import Example, Range, Usage, Verdict
from ..text import Piece, claims_nothing, content_tokens
from ..text.edits import Edited, annotate, edit, split_units
from .rewriting import FOUND, rewrite

UNSUPPORTED = "[unsupported]"
NOTHING_LEFT = "The documents do not support any part of the answer."
_LEFT_ALONE = "nothing that it leads to, or belongs to, is left"
_LEAD = 150  # characters before a sentence that a judge of whole answers is shown with it

Correcting = Generator[Ask, list[Verdict], Correction]
"""A correction: what is to be judged is yielded, its verdicts are sent back."""


def correct_all(
    judge: Judge,
    examples: Sequence[Example],
    model: ChatBackend | None = None,
    *,
    marking: bool = False,
) -> Iterator[Correction]:
    """Yield the corrections of answers that are judged together first; else as `correct`."""
    for example, before in zip(examples, judge(examples) if examples else (), strict=True):
        yield finish(correct(judge, example, before, model, marking=marking))


def correct(
    judge: Judge,
    example: Example,
    before: Verdict | None = None,
    model: ChatBackend | None = None,
    *,
    marking: bool = False,
) -> Correcting:
    """Correct one answer.

    Args:
        judge: of the answer, and of what is left of it.
        example: the answer with its documents.
        before: its verdict, where it is judged already.
        model: writes sentences in the place of unsupported ones; None: they are taken out.
        marking: mark what is unsupported, and take nothing out.
    """
    if before is None:
        (before,) = yield Ask(judge, [example])
    units = split_units(example.answer)
    unedited = edit(example.answer, units, {})
    if before.score != "FAIL":
        outcome: Outcome = "unchanged" if before.score else "unscored"
        return _record(outcome, example, before, units, unedited, {}, {})
    wrong = yield from _find_wrong(judge, example, units, before)
    changes, reasons, usage = dict.fromkeys(wrong, ""), dict.fromkeys(wrong, FOUND), Usage()
    if marking:
        marked = annotate(example.answer, units, set(wrong), UNSUPPORTED)
        return _record("annotated", example, before, units, marked, changes, reasons)
    if model is not None and wrong:
        changes, reasons, usage = rewrite(model, example, units, wrong, before)
    after = None
    while True:
        edited = edit(example.answer, units, changes)
        left = [unit for unit, place in zip(units, edited.ranges, strict=True) if place]
        outcome = "rewritten" if any(changes.values()) else "filtered"
        if not wrong or all(claims_nothing(unit.text) for unit in left):
            outcome = "nothing_left"
            break
        trial = _with_answer(example, edited.text)
        (after,) = yield Ask(judge, [trial])
        if after.score == "PASS":
            break
        shown = [Piece(*(place or (0, 0)), "") for place in edited.ranges]
        wrong = yield from _find_wrong(judge, trial, shown, after)
        for number in wrong:
            if new := changes.get(number):
                reasons[number] = f"the judge finds the rewrite unsupported: “{new}”"
            changes[number] = ""
            reasons.setdefault(number, FOUND)
    return _record(outcome, example, before, units, edited, changes, reasons, after, usage)


def _record(
    outcome: Outcome,
    example: Example,
    before: Verdict,
    units: Sequence[Piece],
    edited: Edited,
    changes: Collection[int],
    reasons: Mapping[int, str],
    after: Verdict | None = None,
    usage: Usage = Usage(),  # noqa: B008 (frozen)
) -> Correction:
    """Return the record of what was done to each sentence."""
    nothing = outcome == "nothing_left"
    held = {form for document in example.context for form in _forms(document)}
    listed = []
    for number, ((start, end, text), place) in enumerate(zip(units, edited.ranges, strict=True)):
        change = Change(start=start, end=end, text=text, action="kept", reason=reasons.get(number))
        update: dict[str, object] = {}
        if place is None or nothing:
            update = {"action": "removed", "reason": change.reason or _LEFT_ALONE}
        elif number in changes:
            new = edited.text[slice(*place)]
            lost = sorted((_forms(text) & held) - _forms(edited.text))
            action = "marked" if outcome == "annotated" else "rewritten"
            update = {"action": action, "new": new, "lost": tuple(lost)}
        listed.append(change.model_copy(update=update))
    return Correction(
        outcome=outcome,
        original=example.answer,
        answer=NOTHING_LEFT if nothing else edited.text,
        changes=tuple(listed),
        before=before,
        after=after,
        usage=usage,
    )


def _find_wrong(
    judge: Judge, example: Example, units: Sequence[Piece], verdict: Verdict
) -> Generator[Ask, list[Verdict], list[int]]:
    """Return the numbers of unsupported sentences.

    Those that the verdict names, or that hold what it marks; of a judge of whole answers, those
    that do not pass by themselves.
    """
    named: Sequence[Range] = [one for one in verdict.sentences if one.label == "UNSUPPORTED"]
    named = named or verdict.spans
    if named or verdict.score is None:
        return [
            number
            for number, unit in enumerate(units)
            if any(one.start < unit.end and unit.start < one.end for one in named)
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
    verdicts = yield Ask(judge, alone)
    return [n for n, one in zip(claims, verdicts, strict=True) if one.score != "PASS"]


def _with_answer(example: Example, answer: str) -> Example:
    """Return the example with another answer, without the gold of its own."""
    return example.model_copy(update={"answer": answer, "label": None, "spans": None})


def _forms(text: str) -> set[str]:
    return {token.form for token in content_tokens(text)}
