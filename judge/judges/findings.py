"""From what a detector finds for each sentence to a verdict: one rule for all four."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..contract.types import Evidence, Example, JudgeInfo, Sentence, Span, Usage, Verdict
from ..text import Piece, body_start

_SHOWN = 80  # characters of a sentence quoted in a reason


@dataclass(frozen=True)
class Finding:
    """What a detector found for one sentence of the answer.

    Attributes:
        piece: the sentence.
        raw_score: in [0, 1], higher = less supported; None where it claims nothing.
        reason: why, written after the quoted sentence.
        evidence: where the documents support it.
        marked: ranges of the answer to mark if the sentence turns out unsupported; the whole
            sentence where the detector cannot tell.
    """

    piece: Piece
    raw_score: float | None
    reason: str = "makes no claim that documents could support"
    evidence: tuple[Evidence, ...] = ()
    marked: tuple[tuple[int, int], ...] = ()


def to_verdict(
    example: Example,
    judge: JudgeInfo,
    findings: Sequence[Finding],
    threshold: float,
    usage: Usage = Usage(),  # noqa: B008 (frozen)
) -> Verdict:
    """Call an answer hallucinated if any sentence scores `threshold` or more.

    The answer's raw score is that of its worst sentence, and 0 where no sentence claims anything.
    Scores are rounded to four decimals, above what the order of a batch can change.
    """
    sentences, spans, reasons = [], [], []
    worst = 0.0
    for finding in findings:
        score = None if finding.raw_score is None else round(finding.raw_score, 4)
        unsupported = score is not None and score >= threshold
        worst = max(worst, score or 0.0)
        sentences.append(
            Sentence(
                start=finding.piece.start,
                end=finding.piece.end,
                label="NO_INFO" if score is None else "UNSUPPORTED" if unsupported else "SUPPORTED",
                raw_score=score,
                evidence=() if unsupported or score is None else finding.evidence,
            )
        )
        if unsupported:
            for start, end in finding.marked or [(finding.piece.start, finding.piece.end)]:
                spans.append(Span(start=start, end=end, text=example.answer[start:end]))
        reasons.append(f"{sentences[-1].label}: “{_shorten(finding.piece.text)}” {finding.reason}.")
    return Verdict(
        id=example.id,
        score="FAIL" if any(s.label == "UNSUPPORTED" for s in sentences) else "PASS",
        raw_score=worst,
        reasoning=tuple(reasons),
        spans=tuple(spans),
        sentences=tuple(sentences),
        judge=judge,
        usage=usage,
    )


def body(piece: Piece) -> str:
    """Return the sentence without its list mark: a number in front is no part of what it says."""
    return piece.text[body_start(piece.text) :]


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1].rstrip() + "…"
