"""The rule tier: numbers, dates and names of an answer that none of its documents holds.

It runs before any judge (`?rules=on`). A sentence with a literal that nothing holds
(`judge.text.absent`) is UNSUPPORTED, and its answer FAIL; all else the judge decides. It cannot
prove an answer right.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from ..contract.base import Judge, stages_of
from ..contract.steps import Steps, Wrapper, steps_of
from ..contract.types import Example, Sentence, Span, Stage, Verdict
from ..text import iter_sentences
from ..text.absent import Absent, find_absent
from .findings import fail_by, share_supported

VERSION = "rules-2"
NAME = "rules"


class RuleTier(Wrapper):
    """A judge with the rule tier before it.

    The judge judges every answer; the tier then marks the sentences in which it finds an absent
    literal. `raw_score` stays the judge's own; where the tier changes the score, `probability` is
    null, since no calibration covers it. A verdict's `stages` name the tier and the judge.
    """

    def __init__(self, judge: Judge) -> None:
        super().__init__(judge, f"+{VERSION}")
        self.calibration, self.stages = None, (judge,)  # calibrated is what it asks

    def steps(self, examples: Sequence[Example]) -> Steps:
        """Judge the examples in the judge's own steps, then look for literals."""
        verdicts = yield from steps_of(self._judge, examples)
        settled = []
        for example, verdict in zip(examples, verdicts, strict=True):
            unread = verdict.error is not None and verdict.error.code == "bad_input"
            absent = [] if unread else (yield from find_absent(example))
            settled.append(self._settle(example, verdict, absent))
        return settled

    def _settle(self, example: Example, verdict: Verdict, absent: Sequence[Absent]) -> Verdict:
        if not absent:
            rules = Stage(judge=NAME, score=None, decided=False)
            stages = (rules, *stages_of(verdict))
            return verdict.model_copy(update={"judge": self.info, "stages": stages})
        sentences = _sentences(example, verdict.sentences, absent)
        reasons = [f"No document holds “{each.text}”." for each in absent]
        return verdict.model_copy(
            update=fail_by(verdict, NAME, reasons)
            | {
                "judge": self.info,
                "error": None,
                "spans": _spans(example, verdict.spans, absent),
                "sentences": sentences,
                "faithfulness": share_supported(sentences) if verdict.sentences else None,
            }
        )


def _spans(example: Example, spans: Sequence[Span], absent: Sequence[Absent]) -> tuple[Span, ...]:
    """Add the literals that no span of the judge covers."""
    by_start = sorted(spans, key=lambda span: span.start)
    starts = [span.start for span in by_start]
    reach = [0, *accumulate((span.end for span in by_start), max)]
    new = [
        Span(start=each.start, end=each.end, text=example.answer[each.start : each.end])
        for each in absent
        if reach[bisect_right(starts, each.start)] < each.end
    ]
    return tuple(sorted([*spans, *new], key=lambda span: (span.start, span.end)))


def _sentences(
    example: Example, sentences: Sequence[Sentence], absent: Sequence[Absent]
) -> tuple[Sentence, ...]:
    """Relabel the judge's sentences that hold an absent literal; add them where it has none."""
    listed = list(sentences)
    judged, marked = (_mask(len(example.answer), ranges) for ranges in (sentences, absent))
    for start, end, _ in iter_sentences(example.answer):
        if not any(judged[start:end]) and any(marked[start:end]):
            listed.append(Sentence(start=start, end=end, label="UNSUPPORTED"))
    return tuple(
        sentence.model_copy(update={"label": "UNSUPPORTED", "evidence": (), "probability": None})
        if sentence.label != "UNSUPPORTED" and any(marked[sentence.start : sentence.end])
        else sentence
        for sentence in sorted(listed, key=lambda sentence: sentence.start)
    )


def _mask(length: int, ranges: Sequence[Sentence] | Sequence[Absent]) -> bytearray:
    """Return a byte for each character, 1 inside of the ranges."""
    mask = bytearray(length)
    for each in ranges:
        mask[each.start : each.end] = b"\1" * (each.end - each.start)
    return mask
