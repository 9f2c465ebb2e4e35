"""Calibration: from a judge's raw score to a decision threshold and to P(hallucinated).

Fitted once on labelled rows, kept as a small JSON file, applied to every verdict after that. A file
names the judge and the version it was fitted for, and serves no other. Fitting needs scikit-learn
(the extra `eval`), applying only numpy.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from ..backends.base import MissingExtra
from ..contract.base import Judge
from ..contract.steps import Stepped, Steps, steps_of
from ..contract.types import (
    Count,
    Example,
    Finite,
    JudgeInfo,
    MoonlynxError,
    Probability,
    Range,
    Record,
    Score,
    Sentence,
    Span,
    Verdict,
)
from ..files.stored import load_record
from .conformal import RiskCurve, fit_curve

CALIBRATION_VERSION: Literal["1.3"] = "1.3"
MIN_ROWS = 20
Method = Literal["temperature", "isotonic"]
BALANCED_ACCURACY = "balanced-accuracy"
MISSED = 0.1  # share of faithful answers that `guard` stops, of hallucinated ones `audit` passes
_OBJECTIVE = rf"{BALANCED_ACCURACY}|precision>=(?:1(?:\.0+)?|0?\.\d+)"


class CalibrationError(MoonlynxError, ValueError):
    """A calibration that cannot be fitted, read or used with this judge."""


class Temperature(Record):
    """P = sigmoid((raw_score - bias) / temperature), Platt's form with a bias.

    Platt, "Probabilistic outputs for support vector machines" (1999).
    """

    method: Literal["temperature"] = "temperature"
    bias: Finite
    temperature: Annotated[Finite, Field(gt=0)]

    def probability(self, raw_score: float) -> float:
        """Return P(hallucinated) in [0, 1]."""
        # tanh, unlike exp, does not overflow.
        return 0.5 + 0.5 * math.tanh((raw_score - self.bias) / self.temperature / 2)


class Isotonic(Record):
    """P rises with the raw score by straight lines between knots, and is level outside them."""

    method: Literal["isotonic"] = "isotonic"
    raw_scores: tuple[Finite, ...] = Field(min_length=1)
    probabilities: tuple[Probability, ...]

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if len(self.raw_scores) != len(self.probabilities):
            raise PydanticCustomError("bad_input", "raw_scores and probabilities differ in length")
        if sorted(self.raw_scores) != [*self.raw_scores]:
            raise PydanticCustomError("bad_input", "raw_scores must rise")
        if sorted(self.probabilities) != [*self.probabilities]:
            raise PydanticCustomError("bad_input", "probabilities must not fall")
        return self

    def probability(self, raw_score: float) -> float:
        """Return P(hallucinated) in [0, 1]."""
        return float(np.interp(raw_score, self.raw_scores, self.probabilities))


class Presets(Record):
    """Thresholds for three uses, fitted to the same rows.

    `guard` and `audit` are quantiles of split conformal prediction (Vovk et al. 2005, as in
    Angelopoulos and Bates 2021, arXiv 2107.07511, section 1): over draws of the fitted rows and of
    a later answer from one distribution, the chance of an error is at most `MISSED`.

    Attributes:
        guard: stops at most one in ten faithful answers; null where the rows are too few.
        balanced: has the best balanced accuracy.
        audit: passes at most one in ten hallucinated answers; null where the rows are too few.
    """

    guard: Finite | None
    balanced: Finite
    audit: Finite | None


class Calibration(Record):
    """What was fitted, for which judge, and on what.

    Attributes:
        judge: the judge whose raw scores these are.
        parameters: the method and what it fitted.
        threshold: an answer is FAIL where its raw score reaches it.
        objective: what the threshold was chosen for: "balanced-accuracy" or "precision>=P".
        rows: labelled rows with a raw score, on which all was fitted.
        fails: those of them labelled FAIL.
        rows_without_score: labelled rows left out, as they have no raw score.
        data_sha256: hash of the labelled file.
        curve: says when to abstain; files of version 1.0 have none.
        presets: thresholds by name; files of before version 1.2 have none.
        sentences: P(unsupported) of a sentence by its raw score; null where the rows' spans were
            not known, and in files of before version 1.3.
        spans: that a marked span holds unsupported text, by the raw score of its sentence; as
            above.
    """

    schema_version: Literal["1.0", "1.1", "1.2", "1.3"] = CALIBRATION_VERSION
    judge: JudgeInfo
    parameters: Annotated[Temperature | Isotonic, Field(discriminator="method")]
    threshold: Finite
    objective: Annotated[str, StringConstraints(pattern=rf"^(?:{_OBJECTIVE})$")]
    rows: Count
    fails: Count
    rows_without_score: Count
    data_sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    curve: RiskCurve | None = None
    presets: Presets | None = None
    sentences: Annotated[Temperature | Isotonic, Field(discriminator="method")] | None = None
    spans: Annotated[Temperature | Isotonic, Field(discriminator="method")] | None = None

    @model_validator(mode="after")
    def _of_its_version(self) -> Self:
        if (self.curve is None) != (self.schema_version == "1.0"):
            raise PydanticCustomError("bad_input", "curve belongs to version 1.1 and later")
        if (self.presets is None) != (self.schema_version in ("1.0", "1.1")):
            raise PydanticCustomError("bad_input", "presets belong to version 1.2 and later")
        return self

    def threshold_of(self, preset: str | None) -> float:
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

    def probability(self, raw_score: float) -> float:
        """Return P(hallucinated) of a raw score, to four decimals like the score itself."""
        return round(self.parameters.probability(raw_score), 4)


class Calibrated(Stepped):
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
        self.info = judge.info
        self.languages: tuple[str, ...] = getattr(judge, "languages", ())
        self.checks = bool(getattr(judge, "checks", False))
        self._judge = judge
        self.calibration = calibration

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


def _at(curve: Temperature | Isotonic, raw_score: float | None) -> float | None:
    return None if raw_score is None else round(curve.probability(raw_score), 4)


def _scores_of(spans: Sequence[Span], sentences: Sequence[Sentence]) -> list[float | None]:
    """Return the raw score of the sentence that each span begins in."""
    ordered = sorted(sentences, key=lambda one: one.start)
    starts = [one.start for one in ordered]
    found = [ordered[max(0, bisect_right(starts, span.start) - 1)] for span in spans if ordered]
    return [one.raw_score for one in found] or [None] * len(spans)


def fit_calibration(
    judge: JudgeInfo,
    raw_scores: Sequence[float | None],
    labels: Sequence[Score],
    *,
    method: Method,
    objective: str,
    data_sha256: str,
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

    Raises:
        CalibrationError: the rows allow no fit, or the objective cannot be met; says why.
        MissingExtra: scikit-learn is not installed.
    """
    if not re.fullmatch(_OBJECTIVE, objective):
        raise CalibrationError(
            f"objective {objective!r} is neither {BALANCED_ACCURACY} nor precision>=P "
            "with P between 0 and 1, as in precision>=0.9"
        )
    scores, failed = _labelled(raw_scores, labels)
    counts = _count(scores, failed)
    _check_ranking(counts)
    return Calibration(
        judge=judge,
        parameters=_FITS[method](scores, failed),
        threshold=_choose_threshold(counts, objective),
        objective=objective,
        rows=len(scores),
        fails=int(failed.sum()),
        rows_without_score=len(raw_scores) - len(scores),
        data_sha256=data_sha256,
        curve=fit_curve(scores, failed),
        presets=_fit_presets(counts, scores, failed),
    )


def fit_parts(
    calibration: Calibration,
    verdicts: Sequence[Verdict],
    gold: Sequence[Sequence[Span] | None],
    method: Method,
) -> Calibration:
    """Add the probabilities of sentences and of marked spans, where the rows allow a fit.

    Args:
        calibration: of the same judge.
        verdicts: one per row.
        gold: the unsupported spans of each row, null where they are not known.
        method: as for `fit_calibration`.
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


def _curve(
    parts: Sequence[tuple[float | None, Score]], method: Method
) -> Temperature | Isotonic | None:
    try:
        return _FITS[method](*_labelled([x for x, _ in parts], [label for _, label in parts]))
    except CalibrationError:
        return None  # too few, or all of one label


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


def _labelled(
    raw_scores: Sequence[float | None], labels: Sequence[Score]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the available raw scores, and which of their rows are labelled FAIL."""
    pairs = [
        (score, label) for score, label in zip(raw_scores, labels, strict=True) if score is not None
    ]
    if raw_scores and not pairs:
        raise CalibrationError(
            "no row has a raw score; a chat judge has them only where its backend gives logprobs"
        )
    if len(pairs) < MIN_ROWS:
        raise CalibrationError(
            f"{len(pairs)} labelled rows with a raw score are too few; give at least {MIN_ROWS}"
        )
    scores = np.array([score for score, _ in pairs], dtype=np.float64)
    failed = np.array([label == "FAIL" for _, label in pairs])
    if not np.isfinite(scores).all():
        raise CalibrationError("a raw score is not a finite number")
    if failed.all() or not failed.any():
        raise CalibrationError(
            f"all rows are labelled {pairs[0][1]}; a calibration needs rows of both labels"
        )
    return scores, failed


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


def _fit_presets(
    counts: _Counts, scores: NDArray[np.float64], failed: NDArray[np.bool_]
) -> Presets:
    """Fit the three thresholds; an answer is FAIL where its raw score reaches one."""
    faithful, hallucinated = np.sort(scores[~failed]), np.sort(scores[failed])
    stopped = math.ceil((1 - MISSED) * (len(faithful) + 1))  # rank of the last that is passed
    passed = math.floor(MISSED * (len(hallucinated) + 1))  # rank of the first that is stopped
    return Presets(
        guard=_above(faithful[stopped - 1]) if stopped <= len(faithful) else None,
        balanced=_choose_threshold(counts, BALANCED_ACCURACY),
        audit=float(hallucinated[passed - 1]) if passed else None,
    )


def _above(score: float) -> float:
    """Return the least float above a score, which the score itself does not reach."""
    return math.nextafter(float(score), math.inf)


def _between(scores: NDArray[np.float64], index: int) -> float:
    """Return the threshold midway between a score and the one below it."""
    score = float(scores[index])
    if index == 0:
        return score
    below = float(scores[index - 1])
    middle = round((below + score) / 2, 6)
    return middle if below < middle <= score else score


def _fit_temperature(scores: NDArray[np.float64], failed: NDArray[np.bool_]) -> Temperature:
    """Fit Platt's sigmoid by maximum likelihood to his smoothed targets."""
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise MissingExtra("fitting a calibration", "eval") from None
    fails = int(failed.sum())
    target = np.where(failed, (fails + 1) / (fails + 2), 1 / (len(scores) - fails + 2))
    centre, scale = float(scores.mean()), float(scores.std())
    standard = (scores - centre) / scale
    # A target of 0.9 is one row of each class, weighted 0.9 and 0.1.
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(
        np.concatenate([standard, standard])[:, None],
        np.repeat([1, 0], len(scores)),
        sample_weight=np.concatenate([target, 1 - target]),
    )
    slope, intercept = float(model.coef_[0, 0]), float(model.intercept_[0])
    if slope <= 0:
        raise CalibrationError(
            "the fitted probability falls with the raw score; use the method isotonic"
        )
    return Temperature(
        bias=_round(centre - scale * intercept / slope), temperature=_round(scale / slope)
    )


def _fit_isotonic(scores: NDArray[np.float64], failed: NDArray[np.bool_]) -> Isotonic:
    try:
        from sklearn.isotonic import IsotonicRegression
    except ImportError:
        raise MissingExtra("fitting a calibration", "eval") from None
    model = IsotonicRegression(y_min=0.0, y_max=1.0).fit(scores, failed.astype(np.float64))
    return Isotonic(
        raw_scores=tuple(float(knot) for knot in model.X_thresholds_),
        probabilities=tuple(_round(float(knot)) for knot in model.y_thresholds_),
    )


_FITS: dict[Method, Callable[..., Temperature | Isotonic]] = {
    "temperature": _fit_temperature,
    "isotonic": _fit_isotonic,
}


def _round(value: float) -> float:
    """Keep six digits: fewer than solvers on different machines agree on."""
    return float(f"{value:.6g}")


def _named(judge: JudgeInfo) -> str:
    return f"{judge.name} version {judge.version}"
