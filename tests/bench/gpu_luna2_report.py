"""What `gpu_luna2` finds: its records, and their Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median

import numpy as np

from moonlynx.eval.markdown import UNDEFINED, table
from moonlynx.judge.contract.types import Record
from moonlynx.judge.decision.cost import load_prices

from .chips import find_chip
from .origin import Origin

PAPER: Mapping[str, Mapping[int, float]] = {
    "3B": {500: 0.1, 2_000: 0.1, 15_000: 0.6, 100_000: 6.0},
    "8B": {500: 0.1, 2_000: 0.15, 15_000: 1.0, 100_000: 10.0},
}
"""Seconds on an H100, by tokens (Luna-2, Table 5)."""


class Latency(Record):
    """One prompt at a time: seconds of each round, and operations of one."""

    size: str
    tokens: int
    seconds: tuple[float, ...]
    flops: float


class Load(Record):
    """Requests given at once, `batch` of them computed together, of so many adapters."""

    size: str
    adapters: int
    tokens: int
    requests: int
    batch: int
    seconds: float
    flops: float


class HeadsBench(Record):
    """A whole run; `gemm` is the device's measured rate for one large fp16 product, in FLOP/s."""

    origin: Origin
    device: str
    gemm: float
    bytes_of_adapter: dict[str, int]
    latencies: tuple[Latency, ...]
    loads: tuple[Load, ...]


def render(bench: HeadsBench) -> str:
    """Return the run as Markdown."""
    prices = load_prices()
    sizes = ", ".join(
        f"{size} {taken / 1e6:.1f} MB" for size, taken in bench.bytes_of_adapter.items()
    )
    header = ("model", "tokens", "p50 ms", "p95 ms", "TFLOP", "x floor", "paper ms", "of it")
    loads = ("model", "adapters", "tokens", "batch", "requests/s", "x floor", "cost of 1,000")
    sections = [
        "# Luna-2 on a GPU",
        bench.origin.describe(),
        f"{bench.device}: {bench.gemm / 1e12:.1f} fp16 TFLOP/s measured with one large product. "
        f"Random weights, adapters of rank 16 (fp32 on disk: {sizes} each).",
        "## One prompt at a time",
        table(header, _latencies(bench)),
        "The floor is the operations at the measured rate; the paper's times are of an H100, "
        "end to end (Table 5).",
        "## Many adapters",
        table(loads, _loads(bench)),
        f"Cost in {prices.currency} by the GPU's price an hour as of {prices.updated.isoformat()} "
        f"({prices.gpu_source}), the GPU busy all the time. The paper gives 0.01 for 1,000 "
        "evaluations of 1,250 tokens by 3B (Table 4), and 0.02 a million tokens in its text.",
    ]
    return "\n\n".join(sections) + "\n"


def _latencies(bench: HeadsBench) -> Iterator[tuple[str, ...]]:
    for each in bench.latencies:
        middle = median(each.seconds)
        paper = PAPER[each.size].get(each.tokens)
        yield (
            each.size,
            f"{each.tokens:,}",
            f"{1e3 * middle:,.1f}",
            f"{1e3 * np.percentile(each.seconds, 95):,.1f}",
            f"{each.flops / 1e12:.3g}",
            f"{middle * bench.gemm / each.flops:.2f}",
            f"{1e3 * paper:,.0f}" if paper else UNDEFINED,
            f"{middle / paper:.2f}" if paper else UNDEFINED,
        )


def _loads(bench: HeadsBench) -> Iterator[tuple[str, ...]]:
    chip = find_chip(bench.device)
    hour = load_prices().gpu_hours.get(chip.name) if chip else None
    for each in bench.loads:
        one = each.seconds / each.requests
        yield (
            each.size,
            f"{each.adapters}",
            f"{each.tokens:,}",
            f"{each.batch}",
            f"{1 / one:,.1f}",
            f"{each.seconds * bench.gemm / each.flops:.2f}",
            f"{1e3 * one * hour / 3600:.4f}" if hour else UNDEFINED,
        )
