"""What a bench of the encoder found: as records, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from statistics import median

import numpy as np

from moonlynx.eval.markdown import UNDEFINED, table
from moonlynx.judge.contract.types import Record

from .origin import Origin


class Measurement(Record):
    """A subject's runs of one size, in the order of the rounds.

    Attributes:
        tokens: of an example: question, documents and answer.
        batch: examples given at once.
        name: the subject's.
        seconds: of each round.
        floor: seconds that the multiply-adds of what was read take by themselves; None where they
            could not be counted or measured.
        parts: seconds of the judge's steps, each the median of the rounds.
    """

    tokens: int
    batch: int
    name: str
    seconds: tuple[float, ...]
    floor: float | None
    parts: dict[str, float] | None

    @property
    def rate(self) -> float:
        """Return input tokens a second, by the median."""
        return self.tokens * self.batch / median(self.seconds)

    def speed_against(self, other: Measurement) -> float:
        """Return how many times as fast this was: the median over the rounds that both shared."""
        pairs = zip(other.seconds, self.seconds, strict=True)
        return median(theirs / own for theirs, own in pairs)


class EncoderBench(Record):
    """A whole run.

    Attributes:
        weights: whose, in words.
        window: tokens that the encoder alone read at once.
        base: the subject that the others' speed is compared with.
        rates: multiply-adds a second, by kind of matrix product: the best of the rounds.
        peak_mb: of each subject's process.
        left_out: what was not measured, and why.
    """

    origin: Origin
    weights: str
    window: int
    base: str
    measurements: tuple[Measurement, ...]
    rates: dict[str, float]
    peak_mb: dict[str, float]
    left_out: dict[str, str]


def render(bench: EncoderBench) -> str:
    """Return the run as Markdown."""
    sections = [
        "# The encoder and the judge: latency, tokens a second, memory",
        bench.origin.describe(),
        f"The judge goes from texts to verdicts; the forms read all of the input once, in windows "
        f"of {bench.window} tokens, with {bench.weights}. Tokens are those of question, documents "
        f"and answer. Speed is the median over the rounds of {bench.base}'s seconds by the row's. "
        f"The floor is what the multiply-adds of what was read take by themselves.",
        table(
            ("tokens", "batch", "what", "rounds", "p50 s", "p95 s", "tokens/s", "speed", "x floor"),
            _rows(bench),
            left=(2,),
        ),
        _parts(bench),
        _rates(bench),
        "## Peak memory\n\n"
        + table(("what", "MB"), ((name, f"{mb:.0f}") for name, mb in bench.peak_mb.items())),
    ]
    if bench.left_out:
        lines = [f"- {name}: {reason}" for name, reason in bench.left_out.items()]
        sections.append("## Not measured\n\n" + "\n".join(lines))
    return "\n\n".join(section for section in sections if section) + "\n"


def _rows(bench: EncoderBench) -> Iterator[tuple[str, ...]]:
    for _, cell in groupby(bench.measurements, lambda each: (each.tokens, each.batch)):
        measured = list(cell)
        base = next((each for each in measured if each.name == bench.base), None)
        for each in measured:
            yield (
                f"{each.tokens:,}",
                str(each.batch),
                each.name,
                str(len(each.seconds)),
                *(f"{np.percentile(each.seconds, share):.3f}" for share in (50, 95)),
                f"{each.rate:,.0f}",
                f"{each.speed_against(base):.2f}" if base else UNDEFINED,
                f"{median(each.seconds) / each.floor:.1f}" if each.floor else UNDEFINED,
            )


def _parts(bench: EncoderBench) -> str:
    rows = []
    names: list[str] = []
    for each in bench.measurements:
        if each.parts:
            whole = median(each.seconds)
            names = list(each.parts)
            shares = {**each.parts, "rest": max(0.0, whole - sum(each.parts.values()))}
            cells = (f"{1e3 * s / each.batch:.1f} ({s / whole:.0%})" for s in shares.values())
            rows.append((f"{each.tokens:,}", str(each.batch), *cells))
    if not rows:
        return ""
    header = ("tokens", "batch", *names, "rest")
    return "## Where the judge's time goes, ms of an example\n\n" + table(header, rows, left=())


def _rates(bench: EncoderBench) -> str:
    if not bench.rates:
        return ""
    rows = ((kind, f"{rate / 1e9:.0f}") for kind, rate in bench.rates.items())
    title = "## Matrix products by themselves, 10⁹ multiply-adds a second"
    return f"{title}\n\n" + table(("kind", "rate"), rows)
