"""How often a cascade's risk bound holds: `python -m moonlynx.eval.risk_splits`.

Labelled rows are split at random, many times; the policy of `moonlynx cascade --risk` is fitted on
one half, and the other half says what share of the verdicts that stand is wrong. That share has
noise of its own: above the risk asked for it may be by chance. So it is also counted how often the
other half rules the bound out (exact binomial test at 5 %). With `--on`, all rows of one benchmark
fit one policy, which is held against another benchmark: no bound is promised there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from moonlynx.judge.conformal import CONFIDENCE, binomial_cdf
from moonlynx.judge.messages import echo, errors_as_messages
from moonlynx.judge.policy import Policy, PolicyError, Rows, fit_risk
from moonlynx.judge.progress import progress_bar
from moonlynx.judge.types import Score, Verdict

from .benchmarks import load_benchmark
from .markdown import table
from .run import judge_benchmark

SPLITS = 200
_RULED_OUT = 0.05


class Side(NamedTuple):
    """Verdicts that stand, on one side: how many, and how many of them are wrong."""

    stand: int
    wrong: int

    def exceeds(self, risk: float) -> bool:
        """Say whether the share that is wrong is above `risk`."""
        return self.wrong > risk * self.stand

    def rules_out(self, risk: float) -> bool:
        """Say whether so many wrong ones would be unlikely if the share were `risk`."""
        if not self.wrong:
            return False
        return 1 - binomial_cdf(self.wrong - 1, self.stand, risk) <= _RULED_OUT


class Held(NamedTuple):
    """What a risk came to over many splits; `fitted` splits could vouch for it at all."""

    risk: float
    splits: int
    fitted: int
    exceeded: int
    ruled_out: int
    stand: float
    wrong: float


def measure(policy: Policy, verdicts: Sequence[Verdict], labels: Sequence[Score]) -> list[Side]:
    """Give what stands of PASS and of FAIL, and how much of it is wrong."""
    kept = [
        (verdict.score, label)
        for verdict, label in zip(verdicts, labels, strict=True)
        if policy.keeps(verdict)
    ]
    sides: tuple[Score, Score] = ("PASS", "FAIL")
    by_side = [[label for score, label in kept if score == said] for said in sides]
    return [
        Side(len(found), len(found) - found.count(said))
        for said, found in zip(sides, by_side, strict=True)
    ]


def split_and_measure(
    verdicts: Sequence[Verdict],
    labels: Sequence[Score],
    risk: float,
    *,
    confidence: float = CONFIDENCE,
    splits: int = SPLITS,
) -> Held:
    """Fit on one half and measure on the other, `splits` times.

    Args:
        verdicts: the first judge's, with raw scores, shape (n,).
        labels: gold, shape (n,).
        risk: asked for, in (0, 1).
        confidence: asked for, in (0, 1).
        splits: how many; the halves are drawn with the number of the split as seed.
    """
    fitted = exceeded = ruled_out = 0
    stand, wrong = [], []
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(labels))
        one, other = np.split(order, [len(order) // 2])
        try:
            policy = fit_risk(_rows(verdicts, labels, one), risk=risk, confidence=confidence)
        except PolicyError:
            continue
        sides = measure(policy, [verdicts[i] for i in other], [labels[i] for i in other])
        fitted += 1
        exceeded += any(side.exceeds(risk) for side in sides)
        ruled_out += any(side.rules_out(risk) for side in sides)
        standing = sum(side.stand for side in sides)
        stand.append(standing / len(other))
        wrong.append(sum(side.wrong for side in sides) / max(1, standing))
    mean = [float(np.mean(values)) if values else 0.0 for values in (stand, wrong)]
    return Held(risk, splits, fitted, exceeded, ruled_out, *mean)


def _rows(verdicts: Sequence[Verdict], labels: Sequence[Score], of: NDArray[np.intp]) -> Rows:
    return Rows([verdicts[i] for i in of], [labels[i] for i in of], "0" * 64)


def _judged(name: str, judge: str, output: Path) -> tuple[list[Verdict], list[Score]]:
    """Judge the benchmark `NAME[:SPLIT]`; verdicts stay in `output`."""
    benchmark, _, split = name.partition(":")
    loaded = load_benchmark(benchmark, split=split or None)
    folder = output / name.replace(":", "-").replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    judged = judge_benchmark(loaded, judge, folder, 32, progress_bar)
    return list(judged.verdicts), [row.label for row in loaded.rows]


def _moved(
    policy: Policy | None, risk: float, verdicts: Sequence[Verdict], labels: Sequence[Score]
) -> list[str]:
    if policy is None:
        return [f"{100 * risk:g}", "none can be vouched for", "", ""]
    sides = measure(policy, verdicts, labels)
    shown = [f"{side.wrong} of {side.stand}" for side in sides]
    stand = sum(side.stand for side in sides) / len(labels)
    broken = " and ".join(
        said for said, side in zip(("PASS", "FAIL"), sides, strict=True) if side.rules_out(risk)
    )
    return [f"{100 * risk:g}", f"{100 * stand:.1f}", ", ".join(shown), broken or "no"]


def main(
    judge: Annotated[str, typer.Option(help="The cascade's first judge.")],
    fit: Annotated[str, typer.Option(help="Benchmark that is split, NAME or NAME:SPLIT.")],
    output: Annotated[Path, typer.Option(help="Folder for verdicts; a stopped run goes on.")],
    on: Annotated[list[str] | None, typer.Option(help="Other benchmarks. Repeatable.")] = None,
    risk: Annotated[list[float] | None, typer.Option(help="Repeatable.")] = None,
    confidence: Annotated[float, typer.Option(help="Of the bound.")] = CONFIDENCE,
    splits: Annotated[int, typer.Option(min=1)] = SPLITS,
) -> None:
    """Print how often the bound holds on rows of one kind, and what it is worth on others."""
    verdicts, labels = _judged(fit, judge, output)
    risks = risk or [0.05, 0.1, 0.2, 0.3]
    each = [
        split_and_measure(verdicts, labels, r, confidence=confidence, splits=splits) for r in risks
    ]
    header = ["risk, %", "fits", "above it", "ruled out", "stands, %", "wrong of those, %"]
    echo(f"{judge} on {fit}, {len(labels)} rows, {splits} random halves:\n")
    echo(
        table(
            header,
            [
                [
                    f"{100 * held.risk:g}",
                    *map(str, (held.fitted, held.exceeded, held.ruled_out)),
                    *(f"{100 * share:.1f}" for share in (held.stand, held.wrong)),
                ]
                for held in each
            ],
        )
    )
    policies: list[Policy | None] = []
    everything = np.arange(len(labels))
    for r in risks:
        try:
            rows = _rows(verdicts, labels, everything)
            policies.append(fit_risk(rows, risk=r, confidence=confidence))
        except PolicyError:
            policies.append(None)
    for name in on or ():
        found, gold = _judged(name, judge, output)
        echo(f"\nFitted on all of {fit}, on {len(gold)} rows of {name}:\n")
        moved = [_moved(p, r, found, gold) for p, r in zip(policies, risks, strict=True)]
        header = ["risk, %", "stands, %", "wrong: PASS, FAIL", "ruled out"]
        echo(table(header, moved, left=(2, 3)))


if __name__ == "__main__":
    with errors_as_messages():
        typer.run(main)
