"""From what a judge finds for each sentence, or for the answer as a whole, to a verdict.

A missing score could only count against an answer. So a FAIL that holds without it stays, and the
raw score is then the least it can be; where it would decide, the answer is unscored, with the error
of the first that is missing. What is missing is never taken for support.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..contract.base import stages_of, unscored
from ..contract.types import (
    Evidence,
    Example,
    JudgeError,
    JudgeInfo,
    Sentence,
    SentenceKind,
    Span,
    Stage,
    Usage,
    Verdict,
)
from ..prompts.parsing import shorten
from ..text import Piece, body_start, claims_nothing, forms_of, read_markup, split_sentences

_SHOWN = 80  # characters of a sentence quoted in a reason


@dataclass(frozen=True)
class Finding:
    """What a judge found for one sentence of the answer."""

    piece: Piece  # the sentence
    # in [0, 1], higher = less supported; None where it claims nothing; where the score is missing,
    # why
    raw_score: float | JudgeError | None
    # why, written after the quoted sentence
    reason: str = "makes no claim that documents could support"
    evidence: tuple[Evidence, ...] = ()  # where the documents support it, or what contradicts it
    # ranges of the answer to mark if the sentence turns out unsupported; the whole sentence where
    # the judge cannot tell
    marked: tuple[tuple[int, int], ...] = ()
    # of what is wrong if the sentence turns out unsupported, None where the judge cannot tell
    kind: SentenceKind | None = None


def claims(example: Example) -> list[Piece]:
    """Return the sentences of the answer that claim something."""
    return [piece for piece in split_sentences(example.answer) if not claims_nothing(piece.text)]


def closest_evidence(example: Example, sentence: Sentence) -> Evidence | None:
    """Find the document sentence that shares most content words, for judges that name none."""
    forms = forms_of(example.answer[sentence.start : sentence.end])
    best, shared = None, 0
    for document, text in enumerate(example.context):
        for start, end, piece in split_sentences(text):
            if (count := len(forms & forms_of(piece))) > shared:
                best = Evidence(document=document, start=start, end=end, relation="support")
                shared = count
    return best


def sentences_verdict(
    example: Example,
    judge: JudgeInfo,
    findings: Sequence[Finding],
    threshold: float,
    usage: Usage = Usage(),  # noqa: B008 (frozen)
) -> Verdict:
    """Return `to_verdict` of the findings and of the answer's other sentences, as NO_INFO."""
    found = {finding.piece: finding for finding in findings}
    pieces = split_sentences(example.answer)
    every = [found.get(piece, Finding(piece, None)) for piece in pieces]
    return to_verdict(example, judge, every, threshold, usage)


def to_verdict(
    example: Example,
    judge: JudgeInfo,
    findings: Sequence[Finding],
    threshold: float,
    usage: Usage = Usage(),  # noqa: B008 (frozen)
) -> Verdict:
    """Call an answer hallucinated if any sentence scores `threshold` or more.

    The answer's raw score is that of its worst sentence, and 0 where no sentence claims anything.
    Scores are rounded to four decimals, above what the order of a batch can change. Sentences whose
    score is missing are in the reasoning and left out of `sentences`: no label fits.
    """
    sentences, spans, reasons = [], [], []
    missing: list[tuple[Piece, JudgeError]] = []
    worst = 0.0
    for finding in findings:
        piece = finding.piece
        if isinstance(finding.raw_score, JudgeError):
            missing.append((piece, finding.raw_score))
            continue
        score = None if finding.raw_score is None else round(finding.raw_score, 4)
        unsupported = score is not None and score >= threshold
        if score is not None:
            worst = max(worst, score)
        relation = "conflict" if unsupported else "support"
        label = "NO_INFO" if score is None else "UNSUPPORTED" if unsupported else "SUPPORTED"
        sentences.append(
            Sentence(
                start=piece.start,
                end=piece.end,
                label=label,
                raw_score=score,
                kind=finding.kind if unsupported else None,
                evidence=tuple(one for one in finding.evidence if one.relation == relation),
            )
        )
        if unsupported:
            for start, end in finding.marked or [(piece.start, piece.end)]:
                spans.append(Span(start=start, end=end, text=example.answer[start:end]))
        reasons.append(f"{label}: “{clip(piece.text)}” {finding.reason}.")
    if missing and not spans:
        piece, error = missing[0]
        message = f"the sentence at {piece.start}: {error.message}"
        return unscored(judge, example.id, error.code, message, usage)
    reasons += [f"UNSCORED: “{shorten(piece.text)}” {error.message}." for piece, error in missing]
    return Verdict(
        id=example.id,
        score="FAIL" if spans else "PASS",
        raw_score=worst,
        faithfulness=None if missing else share_supported(sentences),
        reasoning=tuple(reasons),
        spans=tuple(spans),
        sentences=tuple(sentences),
        judge=judge,
        usage=usage,
    )


def share_supported(sentences: Sequence[Sentence]) -> float | None:
    """Return the share of the sentences that claim something which is supported, None if none does.

    Faithfulness as RAGAS defines it (Es et al. 2024, arXiv 2309.15217, section 3), over sentences.
    """
    labels = [sentence.label for sentence in sentences if sentence.label != "NO_INFO"]
    return round(labels.count("SUPPORTED") / len(labels), 4) if labels else None


def fail_by(verdict: Verdict, check: str, reasons: Sequence[str]) -> dict[str, object]:
    """Return what changes in a verdict that a check calls FAIL; `stages` names it."""
    return {
        "score": "FAIL",
        "probability": verdict.probability if verdict.score == "FAIL" else None,
        "reasoning": (*reasons, *verdict.reasoning),
        "stages": (Stage(judge=check, score="FAIL", decided=True), *overruled(verdict)),
    }


def overruled(verdict: Verdict) -> tuple[Stage, ...]:
    """Return the verdict's stages, none of which decides any more."""
    return tuple(one.model_copy(update={"decided": False}) for one in stages_of(verdict))


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


def claimless_verdict(example: Example, judge: JudgeInfo) -> Verdict:
    """Return the verdict, without a raw score, of an answer that claims nothing."""
    return Verdict(
        id=example.id,
        score="PASS",
        reasoning=("The answer makes no claim that documents could support.",),
        sentences=tuple(
            Sentence(start=piece.start, end=piece.end, label="NO_INFO")
            for piece in split_sentences(example.answer)
        ),
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


def body(piece: Piece) -> str:
    """Return the sentence without its markup: a number in front is no part of what it says."""
    said, start = read_markup(piece.text).text, body_start(piece.text)
    return piece.text[start:] if said == piece.text else " ".join(said[start:].split())


def clip(text: str) -> str:
    """Return the text as a reason quotes it."""
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1].rstrip() + "…"
