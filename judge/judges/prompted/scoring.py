"""From scores, some of which may be missing, to a verdict.

A missing score could only count against an answer. So a FAIL that holds without it
stays, and the raw score is then the least it can be; where it would decide, the answer is
unscored, with the error of the first that is missing. What is missing is never taken for support.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...contract.base import unscored
from ...contract.types import Example, JudgeError, JudgeInfo, Verdict
from ...prompts.parsing import shorten
from ...text import Piece
from ..findings import Finding, to_verdict


@dataclass(frozen=True)
class Missing:
    """A sentence without a score, and why."""

    piece: Piece
    error: JudgeError


def sentences_verdict(
    example: Example,
    judge: JudgeInfo,
    findings: Sequence[Finding | Missing],
    threshold: float,
) -> Verdict:
    """Call an answer hallucinated if any sentence scores `threshold` or more.

    Sentences without a score are in the reasoning and left out of `sentences`: no label fits.
    """
    found = [finding for finding in findings if isinstance(finding, Finding)]
    missing = [finding for finding in findings if isinstance(finding, Missing)]
    verdict = to_verdict(example, judge, found, threshold)
    if missing and verdict.score == "PASS":
        first = missing[0]
        message = f"the sentence at {first.piece.start}: {first.error.message}"
        return unscored(judge, example.id, first.error.code, message)
    told = tuple(f"UNSCORED: “{shorten(m.piece.text)}” {m.error.message}." for m in missing)
    return verdict.model_copy(update={"reasoning": verdict.reasoning + told})


def answer_verdict(
    example: Example,
    judge: JudgeInfo,
    raw_score: float | JudgeError,
    threshold: float,
    reasoning: Sequence[str] = (),
) -> Verdict:
    """Call an answer hallucinated if it scores `threshold` or more as a whole."""
    if isinstance(raw_score, JudgeError):
        return unscored(judge, example.id, raw_score.code, raw_score.message)
    rounded = round(raw_score, 4)
    return Verdict(
        id=example.id,
        score="FAIL" if rounded >= threshold else "PASS",
        raw_score=rounded,
        reasoning=tuple(reasoning),
        judge=judge,
    )


def mean_of(scores: Sequence[float | JudgeError], threshold: float) -> float | JudgeError:
    """Return the mean of at least one score in [0, 1].

    Where some are missing, return the least that the mean can be if it reaches `threshold` all the
    same, else the first error.
    """
    known = [score for score in scores if not isinstance(score, JudgeError)]
    errors = [score for score in scores if isinstance(score, JudgeError)]
    mean = sum(known) / len(scores)
    return errors[0] if errors and round(mean, 4) < threshold else mean
