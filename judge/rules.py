"""The rule tier: numbers, dates and names of an answer that none of its documents holds.

It stands before any judge (`?rules=on`). A sentence with a literal that nothing holds
(`moonlynx.judge.absent`) is UNSUPPORTED, and its answer FAIL; all else the judge decides. It cannot
prove an answer right.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from .absent import Absent, find_absent
from .base import AsyncJudge, Judge
from .text import Piece, split_sentences
from .types import Example, JudgeInfo, Sentence, Span, Stage, Usage, Verdict

VERSION = "rules-2"
NAME = "rules"


class RuleTier:
    """A judge with the rule tier before it.

    The judge judges every answer; the tier then marks the sentences in which it finds an absent
    literal. `raw_score` stays the judge's own; where the tier changes the score, `probability` is
    null, since no calibration speaks of it. A verdict's `stages` name the tier and the judge.

    Attributes:
        abstains: whether the judge does.
        stages: the judge, by itself.
    """

    acall: Callable[[Sequence[Example]], Awaitable[list[Verdict]]]

    def __init__(self, judge: Judge) -> None:
        self.info = JudgeInfo(name=judge.info.name, version=f"{judge.info.version}+{VERSION}")
        self._judge = judge
        self.stages = (judge,)
        self.abstains = bool(getattr(judge, "abstains", False))
        if isinstance(judge, AsyncJudge):
            self.acall = partial(self._acall, judge)

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples."""
        return self._join(examples, self._judge(examples))

    async def _acall(self, judge: AsyncJudge, examples: Sequence[Example]) -> list[Verdict]:
        return self._join(examples, await judge.acall(examples))

    def _join(self, examples: Sequence[Example], verdicts: Sequence[Verdict]) -> list[Verdict]:
        return [self._settle(e, v) for e, v in zip(examples, verdicts, strict=True)]

    def _settle(self, example: Example, verdict: Verdict) -> Verdict:
        unread = verdict.error is not None and verdict.error.code == "bad_input"
        absent = [] if unread else find_absent(example)
        own = Stage(
            judge=verdict.judge.name, score=verdict.score, decided=not absent, usage=verdict.usage
        )
        later = verdict.stages or (own,)
        if not absent:
            rules = Stage(judge=NAME, score=None, decided=False, usage=Usage())
            return verdict.model_copy(update={"judge": self.info, "stages": (rules, *later)})
        later = tuple(stage.model_copy(update={"decided": False}) for stage in later)
        rules = Stage(judge=NAME, score="FAIL", decided=True, usage=Usage())
        reasons = tuple(f"No document holds “{each.text}”." for each in absent)
        return verdict.model_copy(
            update={
                "judge": self.info,
                "score": "FAIL",
                "error": None,
                "probability": verdict.probability if verdict.score == "FAIL" else None,
                "reasoning": reasons + verdict.reasoning,
                "spans": _spans(example, verdict.spans, absent),
                "sentences": _sentences(example, verdict.sentences, absent),
                "stages": (rules, *later),
            }
        )


def _spans(example: Example, spans: Sequence[Span], absent: Sequence[Absent]) -> tuple[Span, ...]:
    """Add the literals that no span of the judge covers."""
    new = [
        Span(start=each.start, end=each.end, text=example.answer[each.start : each.end])
        for each in absent
        if not any(span.start <= each.start and each.end <= span.end for span in spans)
    ]
    return tuple(sorted([*spans, *new], key=lambda span: (span.start, span.end)))


def _sentences(
    example: Example, sentences: Sequence[Sentence], absent: Sequence[Absent]
) -> tuple[Sentence, ...]:
    """Relabel the judge's sentences that hold an absent literal; give them where it has none."""
    listed = list(sentences)
    for piece in split_sentences(example.answer):
        is_new = not any(each.start < piece.end and piece.start < each.end for each in sentences)
        if is_new and _inside(piece, absent):
            listed.append(Sentence(start=piece.start, end=piece.end, label="UNSUPPORTED"))
    return tuple(
        sentence.model_copy(update={"label": "UNSUPPORTED", "evidence": (), "probability": None})
        if sentence.label != "UNSUPPORTED" and _inside(sentence, absent)
        else sentence
        for sentence in sorted(listed, key=lambda sentence: sentence.start)
    )


def _inside(part: Piece | Sentence, absent: Sequence[Absent]) -> bool:
    return any(part.start < each.end and each.start < part.end for each in absent)
