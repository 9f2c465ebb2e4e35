"""Calibration: from a judge's raw score to a decision threshold and to P(hallucinated).

Fitted once on labelled rows, kept as a small JSON file, applied to every verdict after that. A file
names the judge and the version it was fitted for, and serves no other. Fitting needs scikit-learn
(the extra `eval`), applying only numpy.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import StringConstraints, model_validator

from ..contract.base import Judge
from ..contract.steps import Steps, Wrapper, steps_of
from ..contract.types import (
    Count,
    Example,
    Finite,
    JudgeInfo,
    Range,
    Record,
    Score,
    Sentence,
    Span,
    Verdict,
    wrong,
)
from ..files.stored import load_record
from .conformal import RiskCurve, fit_curve, pass_at_most, stop_at_most
from .curves import FITS, CalibrationError, Curve, Method, labelled_scores
from .lengths import ByLength, DecidesByLength, Lengths, Preset, Rows, fit_by_length

CALIBRATION_VERSION: Literal["1.3"] = "1.3"
BALANCED_ACCURACY = "balanced-accuracy"
MISSED = 0.1  # share of faithful answers that `guard` stops, of hallucinated ones `audit` passes
_OBJECTIVE = rf"{BALANCED_ACCURACY}|precision>=(?:1(?:\.0+)?|0?\.\d+)"


class Presets(Record):
    """Thresholds for three uses, fitted to the same rows, one for answers of all lengths."""

    # stops at most one in ten faithful answers; null where the rows are too few
    guard: Finite | None
    balanced: Finite  # has the best balanced accuracy
    # passes at most one in ten hallucinated answers; null where the rows are too few
    audit: Finite | None


class Calibration(Record):
    """What was fitted, for which judge, and on what."""

    schema_version: Literal["1.0", "1.1", "1.2", "1.3"] = CALIBRATION_VERSION
    judge: JudgeInfo  # the judge whose raw scores these are
    parameters: Curve  # the method and what it fitted
    threshold: Finite  # an answer is FAIL where its raw score reaches it
    # what the threshold was chosen for: "balanced-accuracy" or "precision>=P"
    objective: Annotated[str, StringConstraints(pattern=rf"^(?:{_OBJECTIVE})$")]
    rows: Count  # labelled rows with a raw score, on which all was fitted
    fails: Count  # those of them labelled FAIL
    rows_without_score: Count  # labelled rows left out, as they have no raw score
    # hash of the labelled file
    data_sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    curve: RiskCurve | None = None  # says when to abstain; files of version 1.0 have none
    presets: Presets | None = None  # thresholds by name; files of before version 1.2 have none
    # P(unsupported) of a sentence by its raw score; null where the rows' spans were not known, and
    # in files of before version 1.3
    sentences: Curve | None = None
    # that a marked span holds unsupported text, by the raw score of its sentence; as above
    spans: Curve | None = None
    # the presets by the number of claims, for a judge that can decide so; null where the rows are
    # too few or their claims were not counted, and before version 1.3
    by_length: ByLength | None = None

    @model_validator(mode="after")
    def _of_its_version(self) -> Self:
        if (self.curve is None) != (self.schema_version == "1.0"):
            raise wrong("curve belongs to version 1.1 and later")
        if (self.presets is None) != (self.schema_version in ("1.0", "1.1")):
            raise wrong("presets belong to version 1.2 and later")
        if self.by_length is not None and self.schema_version != CALIBRATION_VERSION:
            raise wrong("by_length belongs to version 1.3 and later")
        return self

    def threshold_of(self, preset: Preset | None) -> float:
        """Return the threshold of a preset, or the calibration's own.

        Raises:
            CalibrationError: it was not fitted.
        """
        if preset is None:
            return self.threshold
        if self.presets is None:
            raise CalibrationError(
                f"preset={preset}: this calibration has no presets; fit it again with "
                "`moonlynx calibrate`"
            )
        found: float | None = getattr(self.presets, preset)
        if found is None:
            raise CalibrationError(
                f"preset={preset}: fitted on too few rows ({self.rows}, {self.fails} FAIL) to say; "
                "it needs ten or more of that label"
            )
        return found

    @property
    def lowest(self) -> float:
        """Return the raw score below which `balanced` passes answers of any length."""
        bands = () if self.by_length is None else self.by_length.bands
        return min((self.threshold, *(band.balanced for band in bands)))

    def probability(self, raw_score: float) -> float:
        """Return P(hallucinated) of a raw score, to four decimals like the score itself."""
        return round(self.parameters.probability(raw_score), 4)


class Calibrated(Wrapper):
    """A judge whose verdicts carry a probability; all else in them is the judge's own.

    It has `acall` where the judge has it. The calibration's threshold is not applied here: a judge
    gets it when it is made.

    Attributes:
        calibration: what was fitted for the judge.
    """

    def __init__(self, judge: Judge, calibration: Calibration) -> None:
        """Join the two.

        Raises:
            CalibrationError: the calibration was fitted for another judge or version.
        """
        if judge.info != calibration.judge:
            raise CalibrationError(
                f"the calibration was fitted for {_named(calibration.judge)}, "
                f"this judge is {_named(judge.info)}; fit one for it with `moonlynx calibrate`"
            )
        super().__init__(judge)
        self.calibration: Calibration = calibration

    def steps(self, examples: Sequence[Example]) -> Steps:
        """Judge the examples in the judge's own steps."""
        verdicts = yield from steps_of(self._judge, examples)
        return [self._fill(verdict) for verdict in verdicts]

    def _fill(self, verdict: Verdict) -> Verdict:
        if verdict.raw_score is None:
            return verdict
        fitted = self.calibration
        update: dict[str, object] = {"probability": fitted.probability(verdict.raw_score)}
        if fitted.sentences is not None:
            update["sentences"] = tuple(
                one.model_copy(update={"probability": _at(fitted.sentences, one.raw_score)})
                for one in verdict.sentences
            )
        if fitted.spans is not None:
            scores = _scores_of(verdict.spans, verdict.sentences)
            update["spans"] = tuple(
                one.model_copy(update={"probability": _at(fitted.spans, score)})
                for one, score in zip(verdict.spans, scores, strict=True)
            )
        return verdict.model_copy(update=update)


def _at(curve: Curve, raw_score: float | None) -> float | None:
    return None if raw_score is None else round(curve.probability(raw_score), 4)


def _scores_of(spans: Sequence[Span], sentences: Sequence[Sentence]) -> list[float | None]:
    """Return the raw score of the sentence that each span begins in."""
    ordered = sorted(sentences, key=lambda one: one.start)
    starts = [one.start for one in ordered]
    found = [ordered[max(0, bisect_right(starts, span.start) - 1)] for span in spans if ordered]
    return [one.raw_score for one in found] or [None] * len(spans)


def apply_calibration(
    judge: Judge, calibration: Calibration, preset: Preset | None = None
) -> Calibrated:
    """Return the judge with probabilities and, where both know lengths, a preset's thresholds.

    Args:
        judge: decides by `calibration.threshold_of(preset)` already.
        calibration: fitted for it.
        preset: None is "balanced", unless the threshold was fitted for another objective.

    Raises:
        CalibrationError: the calibration was fitted for another judge or version.
    """
    if calibration.by_length is not None and isinstance(judge, DecidesByLength):
        judge = judge.deciding(calibration.by_length.threshold(preset or "balanced"))
    return Calibrated(judge, calibration)


def fit_calibration(
    judge: JudgeInfo,
    raw_scores: Sequence[float | None],
    labels: Sequence[Score],
    *,
    method: Method,
    objective: str,
    data_sha256: str,
    lengths: Lengths | None = None,
) -> Calibration:
    """Fit threshold and probability to labelled rows.

    Args:
        judge: the judge that gave the raw scores.
        raw_scores: one per row, higher = more hallucinated; rows with null are left out.
        labels: the gold label of each row.
        method: "temperature" (two parameters, for few rows) or "isotonic" (any rising curve, for
            some hundred rows or more).
        objective: "balanced-accuracy", the threshold with the best; or "precision>=P", P in (0, 1],
            the threshold with most recall of FAIL whose precision on these rows is P or more.
        data_sha256: hash of the labelled file, 64 hexadecimal digits.
        lengths: of the rows, for a judge that decides by length.

    Raises:
        CalibrationError: the rows allow no fit, or the objective cannot be met; says why.
        MissingExtra: scikit-learn is not installed.
    """
    if not re.fullmatch(_OBJECTIVE, objective):
        raise CalibrationError(
            f"objective {objective!r} is neither {BALANCED_ACCURACY} nor precision>=P "
            "with P between 0 and 1, as in precision>=0.9"
        )
    scores, failed = labelled_scores(raw_scores, labels)
    counts = _count(scores, failed)
    _check_ranking(counts)
    return Calibration(
        judge=judge,
        parameters=FITS[method](scores, failed),
        threshold=_choose_threshold(counts, objective),
        objective=objective,
        rows=len(scores),
        fails=int(failed.sum()),
        rows_without_score=len(raw_scores) - len(scores),
        data_sha256=data_sha256,
        curve=fit_curve(scores, failed),
        presets=Presets(
            guard=stop_at_most(scores[~failed], MISSED),
            balanced=_choose_threshold(counts, BALANCED_ACCURACY),
            audit=pass_at_most(scores[failed], MISSED),
        ),
        by_length=None
        if lengths is None or objective != BALANCED_ACCURACY
        else _fit_by_length(raw_scores, failed, lengths),
    )


def fit_parts(
    calibration: Calibration,
    verdicts: Sequence[Verdict],
    gold: Sequence[Sequence[Span] | None],
    method: Method,
) -> Calibration:
    """Add the probabilities of sentences and of marked spans, where the rows allow a fit.

    `gold` has the unsupported spans of each row, null where they are not known.
    """
    sentences: list[tuple[float | None, Score]] = []
    spans: list[tuple[float | None, Score]] = []
    for verdict, known in zip(verdicts, gold, strict=True):
        if known is None:
            continue
        sentences += [(one.raw_score, _touched(one, known)) for one in verdict.sentences]
        scores = _scores_of(verdict.spans, verdict.sentences)
        touched = [_touched(one, known) for one in verdict.spans]
        spans += zip(scores, touched, strict=True)
    curves = {"sentences": _curve(sentences, method), "spans": _curve(spans, method)}
    return calibration.model_copy(update=curves)


def _touched(part: Range, known: Sequence[Span]) -> Score:
    return "FAIL" if any(one.start < part.end and part.start < one.end for one in known) else "PASS"


def _curve(parts: Sequence[tuple[float | None, Score]], method: Method) -> Curve | None:
    try:
        return FITS[method](*labelled_scores([x for x, _ in parts], [label for _, label in parts]))
    except CalibrationError:
        return None  # too few, or all of one label


def _fit_by_length(
    raw_scores: Sequence[float | None], failed: NDArray[np.bool_], lengths: Lengths
) -> ByLength | None:
    kept = [index for index, score in enumerate(raw_scores) if score is not None]
    claims = np.array([max(1, lengths.claims[index]) for index in kept])
    rows = Rows(np.array([raw_scores[index] for index in kept]), failed, claims)

    def balance(scores: NDArray[np.float64], failed: NDArray[np.bool_]) -> float:
        return _choose_threshold(_count(scores, failed), BALANCED_ACCURACY)

    return fit_by_length(rows, [lengths.groups[index] for index in kept], balance, MISSED)


def load_calibration(path: Path) -> Calibration:
    """Read a calibration file.

    Raises:
        CalibrationError: there is none, or it is not a calibration that this version can read.
    """
    return load_record(path, Calibration, CalibrationError, "write it with `moonlynx calibrate`")


class _Counts(NamedTuple):
    """Rows by raw score: the distinct scores, rising, with the rows of each label at each."""

    scores: NDArray[np.float64]
    fails: NDArray[np.int64]
    passes: NDArray[np.int64]


def _count(scores: NDArray[np.float64], failed: NDArray[np.bool_]) -> _Counts:
    distinct, place = np.unique(scores, return_inverse=True)
    fails = np.bincount(place[failed], minlength=len(distinct))
    passes = np.bincount(place[~failed], minlength=len(distinct))
    return _Counts(distinct, fails, passes)


def _check_ranking(counts: _Counts) -> None:
    """Refuse scores that rank no better than chance: no threshold on them means anything."""
    below = np.cumsum(counts.passes) - counts.passes
    won = int((counts.fails * (2 * below + counts.passes)).sum())
    pairs = 2 * int(counts.fails.sum()) * int(counts.passes.sum())
    if 2 * won <= pairs:
        raise CalibrationError(
            "the raw scores do not rank FAIL rows above PASS rows "
            f"(AUROC {won / pairs:.3f}); are the labels the right way round?"
        )


def _choose_threshold(counts: _Counts, objective: str) -> float:
    """Choose among the thresholds that the rows can tell apart; of equals, the highest."""
    # Highest threshold first: what argmax finds first raises fewest false alarms.
    caught = np.cumsum(counts.fails[::-1])
    false_alarms = np.cumsum(counts.passes[::-1])
    fails, passes = int(caught[-1]), int(false_alarms[-1])
    if objective == BALANCED_ACCURACY:
        # Twice the balanced accuracy, times both counts: whole numbers, so that equals are equal.
        chosen = int(np.argmax(caught * passes + (passes - false_alarms) * fails))
    else:
        wanted = float(objective.removeprefix("precision>="))
        precision = caught / (caught + false_alarms)
        met = precision >= wanted
        if not met.any():
            raise CalibrationError(
                f"no threshold has {objective}; the best precision on these rows is "
                f"{precision.max():.4f}"
            )
        chosen = int(np.argmax(np.where(met, caught, -1)))
    return _between(counts.scores, len(counts.scores) - 1 - chosen)


def _between(scores: NDArray[np.float64], index: int) -> float:
    """Return the threshold midway between a score and the one below it."""
    score = float(scores[index])
    if index == 0:
        return score
    below = float(scores[index - 1])
    middle = round((below + score) / 2, 6)
    return middle if below < middle <= score else score


def _named(judge: JudgeInfo) -> str:
    return f"{judge.name} version {judge.version}"
