"""The records of `report.json`."""

from datetime import date
from typing import Literal

from moonlynx.judge.contract.types import Record, Score, Usage

from .benchmarks.published import Published
from .curves import Curves
from .intervals import Value
from .provenance import File, JudgeRun, Provenance
from .slices import Correlation, LengthBin

MAJORITY = "majority class"
ALWAYS_FAIL = "always FAIL"
TFIDF = "TF-IDF of the answer"
WRITER = "which model wrote it"
BASELINES = (MAJORITY, ALWAYS_FAIL, TFIDF, WRITER)


class SystemScores(Record):
    """What one judge or baseline got on some rows.

    AUROC and average precision are over the `with_raw_score` rows, ECE and Brier score over the
    `with_probability` rows, all else over all rows.
    """

    system: str
    unscored: int
    with_raw_score: int
    with_probability: int
    metrics: dict[str, Value]


class Group(Record):
    """Some rows, and what every system got on them; `systems` is empty where there are no rows.

    The baseline "majority class" always says `majority`, the label that most of these rows have.
    """

    name: str
    rows: int
    fail_rows: int
    span_rows: int
    majority: Score
    systems: tuple[SystemScores, ...]


class MacroScores(Record):
    """Means over the subsets, each subset counting the same.

    A metric is averaged over the subsets in which it is defined; `subsets` says how many.
    """

    system: str
    subsets: dict[str, int]
    metrics: dict[str, Value]


class LengthError(Record):
    """How error goes with length, in rows and, as in RAGHalu's figure 2, in bins of them."""

    system: str
    whole: Correlation
    answer: Correlation
    over_bins: Correlation
    bins: tuple[LengthBin, ...]


class Bounds(Record):
    """F1 between the published PASS rows that are missing here all judged wrong and all right."""

    system: str
    group: str
    missing: int
    all_wrong: float
    all_right: float


class BenchmarkFacts(Record):
    """The benchmark as it was loaded."""

    name: str
    split: str
    source: str
    licence: str
    label_rule: str
    test_only: bool
    caveats: tuple[str, ...]
    rows: int
    fail_rows: int
    sampled_from: int | None
    left_out: dict[str, int]
    rows_sha256: str
    files: tuple[File, ...]


class Costs(Record):
    """What all rows together cost.

    `seconds` is null where the run was not timed throughout, `money` where the price table lacks a
    model that was called. What calls no model costs no money here.
    """

    usage: Usage
    seconds: float | None
    money: float | None
    currency: str
    prices_updated: date


class JudgeFacts(JudgeRun):
    """A judge's run, why some rows have no score, and what it cost."""

    unscored: dict[str, int]
    costs: Costs


class Bootstrap(Record):
    """How the intervals were made."""

    method: Literal["percentile"] = "percentile"
    level: float
    resamples: int
    seed: int


class Report(Provenance):
    """All of `report.json`."""

    schema_version: Literal["1.4"] = "1.4"
    benchmark: BenchmarkFacts
    judges: tuple[JudgeFacts, ...]
    bootstrap: Bootstrap
    metrics: dict[str, str]
    micro: Group
    macro: tuple[MacroScores, ...]
    subsets: tuple[Group, ...]
    context_length: tuple[Group, ...]
    answer_length: tuple[Group, ...]
    generators: tuple[Group, ...]
    length_and_error: tuple[LengthError, ...]
    bounds: tuple[Bounds, ...]
    curves: tuple[Curves, ...]
    published: tuple[Published, ...]
