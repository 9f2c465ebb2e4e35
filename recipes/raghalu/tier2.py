"""What tier 2 finds where the paper measured it: claims over pages, and answers over passages.

The sets of the paper's open evaluation that are at hand, with what sets them apart named beside
each. Nothing is fitted here: the judge decides at the threshold that it ships with.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.base import Judge
from moonlynx.judge.types import Example

from ..luna.answers import LabelledAnswer, load
from ..luna.answers.base import labelled, read_lines
from ..luna.exclusions import DataNotFound
from ..luna.mixes import Mix
from .tables import f1_of

Floats = NDArray[np.float64]
_DRAWS = 500
_SEED = 0


class Figure(NamedTuple):
    """A figure in [0, 1] with the 95 % interval over resampled rows."""

    value: float
    low: float
    high: float


class Result(NamedTuple):
    """How the judge does on one set.

    Attributes:
        name: of the set.
        rows: judged.
        wrong: of them unsupported by their labels.
        silent: of them called NO-INFO, which counts as not unsupported.
        f1: of UNSUPPORTED.
        always: F1 of UNSUPPORTED of calling every row so.
        accuracy: share of right calls.
        auroc: of the raw score; a row without one ranks as the best supported.
    """

    name: str
    rows: int
    wrong: int
    silent: int
    f1: Figure
    always: float
    accuracy: Figure
    auroc: Figure


def read_sets(data: Path, rows: int) -> dict[str, list[LabelledAnswer]]:
    """Draw at most so many rows of each set; none was trained on.

    FEVER-symmetric, the paper's fourth set, is not among them: the embedded encoder was trained on
    all of it.

    Raises:
        DataNotFound: a set is not at `data`.
    """
    sets = {
        "factscore_qcnli": load("factscore_qcnli", data),
        "halueval, validation side": Mix("shipped").validation(data)["halueval"],
        "felm, with references": list(read_felm(data)),
    }
    rng = random.Random(_SEED)  # noqa: S311 - chance, not secrecy
    return {name: rng.sample(found, min(rows, len(found))) for name, found in sets.items()}


def read_felm(data: Path) -> Iterator[LabelledAnswer]:
    """Read the segments of FELM's answers that have reference texts.

    They were judged against the world: a true one may be missing from its references.

    Raises:
        DataNotFound: the set is not at `data`.
    """
    path = data / "felm" / "felm_all.jsonl"
    if not path.is_file():
        raise DataNotFound(path.parent)
    for row in read_lines(path):
        if not str(row["ref_contents"]).strip():
            continue
        for number, (text, right) in enumerate(
            zip(row["segmented_response"], row["labels"], strict=True)
        ):
            if text.strip():
                yield labelled(
                    "felm",
                    f"{row['index']}-{number}",
                    "PASS" if right else "FAIL",
                    context=str(row["ref_contents"]),
                    answer=text,
                    question=row["prompt"],
                )


def measure(judge: Judge, sets: Mapping[str, Sequence[LabelledAnswer]]) -> list[Result]:
    """Judge each set and measure it.

    Raises:
        MissingExtra: scikit-learn is not installed.
    """
    if find_spec("sklearn") is None:
        raise MissingExtra("measuring", "train")
    return [_measure(name, judge, [row.example for row in rows]) for name, rows in sets.items()]


def _measure(name: str, judge: Judge, examples: Sequence[Example]) -> Result:
    from sklearn.metrics import roc_auc_score

    verdicts = judge(examples)
    wrong = np.array([example.label == "FAIL" for example in examples])
    called = np.array([verdict.score == "FAIL" for verdict in verdicts])
    scores = np.array([verdict.raw_score or 0.0 for verdict in verdicts])
    silent = sum(
        bool(verdict.sentences) and all(s.label == "NO_INFO" for s in verdict.sentences)
        for verdict in verdicts
    )
    return Result(
        name,
        rows=len(examples),
        wrong=int(wrong.sum()),
        silent=silent,
        f1=over_draws(lambda rows: f1_of(called[rows], wrong[rows]), wrong),
        always=f1_of(np.ones_like(wrong), wrong),
        accuracy=over_draws(lambda rows: float((called[rows] == wrong[rows]).mean()), wrong),
        auroc=over_draws(lambda rows: float(roc_auc_score(wrong[rows], scores[rows])), wrong),
    )


def over_draws(statistic: Callable[[NDArray[np.int64]], float], wrong: NDArray[np.bool_]) -> Figure:
    """Give a statistic of rows, by their indices, with its interval.

    Rows of each label are resampled by themselves, so that a draw never lacks one.
    """
    rng = np.random.default_rng(_SEED)
    kinds = [np.flatnonzero(wrong), np.flatnonzero(~wrong)]
    drawn = [
        statistic(np.concatenate([rng.choice(kind, len(kind)) for kind in kinds]))
        for _ in range(_DRAWS)
    ]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Figure(statistic(np.arange(len(wrong))), float(low), float(high))


def render(results: Sequence[Result]) -> str:
    """Write the results as a Markdown table, in percent."""
    lines = [
        "| set | rows (unsupported) | NO-INFO | F1 of UNSUPPORTED | always UNSUPPORTED | accuracy "
        "| majority | AUROC |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in results:
        share = one.wrong / one.rows
        figures = [
            f"{100 * figure.value:.1f} [{100 * figure.low:.1f}, {100 * figure.high:.1f}]"
            for figure in (one.f1, one.accuracy, one.auroc)
        ]
        lines.append(
            f"| {one.name} | {one.rows} ({one.wrong}) | {one.silent} | {figures[0]} "
            f"| {100 * one.always:.1f} | {figures[1]} | {100 * max(share, 1 - share):.1f} "
            f"| {figures[2]} |"
        )
    return "\n".join(lines)
