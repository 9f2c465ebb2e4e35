"""Measure the encoder in its forms, and the whole judge, beside LettuceDetect and the roofline.

`python -m tests.bench.encoder` (or `make bench`). Seconds hold for one machine; ratios, from
rounds in which all took turns over the same texts, carry over. The roofline is the time that the
network's multiply-adds take by themselves, at the rate this machine reached in the same rounds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from moonlynx.judge.judges.luna.weights import TOKENIZER

from .forms import Forms, find_forms
from .products import Products
from .record import (
    AgainstOption,
    Bench,
    BenchError,
    Measurement,
    Origin,
    ReportOption,
    publish,
    run,
    say,
    spread,
)
from .rounds import Budget, Cell, Rounds, measure_rounds
from .subjects import PARTS, LettuceDetect, ProductsAlone, Sample, Subject, WholeJudge

_SHIPPED = ("ONNX int8", "ONNX fp32", "torch fp32")  # the judge runs on the first there is
_JUDGE, PEER = "judge on ", "LettuceDetect 17M"
_PRODUCTS = "products alone"
# What a form's products are in: those with weights, and attention's.
_KINDS = {
    "torch fp32": ("linear fp32", "attention fp32"),
    "torch bf16": ("linear bf16", "attention bf16"),
    "ONNX fp32": ("linear fp32", "attention fp32"),
    "ONNX int8": ("linear int8", "attention fp32"),
}
_TOKENS, _BATCHES = [500, 4_000, 16_000], [1, 32]


def command(
    weights: Annotated[
        Path | None,
        typer.Option(help="Weights folder to measure in the forms it has (default: the embedded)."),
    ] = None,
    tokens: Annotated[
        list[int],
        typer.Option(min=8, help="Tokens of question, documents and answer. Repeatable."),
    ] = _TOKENS,
    batch: Annotated[
        list[int], typer.Option(min=1, help="Examples given at once. Repeatable.")
    ] = _BATCHES,
    window: Annotated[
        int, typer.Option(min=8, help="Tokens that the encoder alone reads at once.")
    ] = 512,
    seconds: Annotated[
        float,
        typer.Option(min=0, help="About so long for a size; left out where a round takes more."),
    ] = 20,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of a size at most.")] = 20,
    lettucedetect: Annotated[
        Path | None, typer.Option(help="Folder that holds the package lettucedetect.")
    ] = None,
    report: ReportOption = None,
    against: AgainstOption = None,
) -> None:
    """Measure latency, tokens a second and memory of the encoder and the judge."""
    origin = Origin.of("encoder", folder=lettucedetect)
    cells = [Cell(each, count) for each in tokens for count in batch]
    with tempfile.TemporaryDirectory() as scratch:
        say("making the forms")
        forms = find_forms(weights, Path(scratch), window)
        subjects = _subjects(forms, window, lettucedetect)
        measured = measure_rounds(subjects, cells, Budget(seconds, rounds), say)
    if not measured.samples:
        raise BenchError(f"nothing was measured: {'; '.join(measured.left_out.values())}")
    publish(collect(origin, forms, measured, window), "encoder", report, against)


def _subjects(forms: Forms, window: int, package: Path | None) -> list[Subject]:
    shipped = next((forms.by_name[name] for name in _SHIPPED if name in forms.by_name), None)
    if shipped is None:
        reasons = "; ".join(forms.left_out.values()) or "the folder holds none that is known"
        raise BenchError(f"no form of the encoder can be measured: {reasons}")
    judge = WholeJudge(_JUDGE + shipped.name, shipped)
    subjects: list[Subject] = [judge, *forms.by_name.values()]
    if package is None:
        forms.left_out[PEER] = "needs --lettucedetect"
    else:
        subjects.append(LettuceDetect(PEER, package, shipped.folder / TOKENIZER, "17M"))
    if forms.shape:
        subjects.append(ProductsAlone(_PRODUCTS, forms.shape, window))
    return subjects


def collect(origin: Origin, forms: Forms, rounds: Rounds, window: int) -> Bench:
    """Bring what was measured into the form that is written."""
    rates: dict[str, float] = {}
    peaks: dict[str, float] = {}
    for found in rounds.samples.values():
        for name, samples in found.items():
            if name != _PRODUCTS:
                peaks[name] = max(peaks.get(name, 0.0), *(each.peak_mb for each in samples))
                continue
            for sample in samples:
                rates |= {kind: max(r, rates.get(kind, 0.0)) for kind, r in sample.facts.items()}
    base = next((name for name in (PEER, "torch fp32") if name in peaks), next(iter(peaks), ""))
    note = (
        f"A judge goes from texts to verdicts, with {forms.weights}. Tokens are those of question, "
        f"documents and answer. Speed is the median over the rounds of {base}'s seconds by the "
        "row's."
    )
    if forms.by_name:
        note += (
            f" The forms read all of the input once, in windows of {window} tokens. The roofline "
            "is what the multiply-adds of what was read take by themselves."
        )
    measurements = [
        row
        for cell, found in rounds.samples.items()
        for row in _rows(
            cell,
            found,
            base,
            lambda name, each: _roofline(name, each, forms.products, rates, window),
        )
    ]
    measurements += [row for cell, found in rounds.samples.items() for row in _steps(cell, found)]
    measurements += [
        Measurement(
            table="Matrix products by themselves",
            of={"kind": kind},
            found={"10⁹ multiply-adds/s": rate / 1e9},
        )
        for kind, rate in rates.items()
    ]
    measurements += [
        Measurement(table="Peak memory", of={"what": name}, found={"MB": round(peak)})
        for name, peak in peaks.items()
    ]
    return Bench(
        title="The encoder and the judge: latency, tokens a second, memory",
        origin=origin,
        notes=(note,),
        measurements=tuple(measurements),
        left_out=forms.left_out | rounds.left_out,
    )


def _rows(
    cell: Cell,
    found: Mapping[str, Sequence[Sample]],
    base: str,
    roofline_of: Callable[[str, Sequence[Sample]], float | None],
) -> Iterator[Measurement]:
    for name, samples in found.items():
        if name == _PRODUCTS:
            continue
        seconds = [sample.seconds for sample in samples]
        middle, roofline = median(seconds), roofline_of(name, samples)
        theirs = [sample.seconds for sample in found.get(base, ())]
        yield Measurement(
            table="Latency and throughput",
            of={"tokens": cell.tokens, "batch": cell.batch, "what": name, "rounds": len(seconds)},
            found={
                **spread(seconds),
                "tokens/s": cell.size / middle,
                "speed": median(t / s for t, s in zip(theirs, seconds, strict=True))
                if theirs
                else None,
                "x roofline": middle / roofline if roofline else None,
            },
            samples=tuple(seconds),
        )


def _steps(cell: Cell, found: Mapping[str, Sequence[Sample]]) -> Iterator[Measurement]:
    """Yield where the judge's time goes, each step the median of the rounds."""
    for samples in found.values():
        if PARTS[0] in samples[0].facts:
            parts = {part: median(sample.facts[part] for sample in samples) for part in PARTS}
            whole = median(sample.seconds for sample in samples)
            parts["rest"] = max(0.0, whole - sum(parts.values()))
            yield Measurement(
                table="Where the judge's time goes, ms of an example",
                of={"tokens": cell.tokens, "batch": cell.batch},
                found={name: 1e3 * seconds / cell.batch for name, seconds in parts.items()},
            )


def _roofline(
    name: str,
    samples: Sequence[Sample],
    products: Products | None,
    rates: Mapping[str, float],
    window: int,
) -> float | None:
    """Return the seconds that the products alone take, the median of the rounds."""
    kinds = _KINDS.get(name.removeprefix(_JUDGE))
    if kinds is None or products is None or not rates:
        return None
    linear, attention = (rates[kind] for kind in kinds)
    return median(
        sample.facts["read"] / window * products.linear / linear
        + sample.facts["squares"] / window**2 * products.attention / attention
        for sample in samples
    )


if __name__ == "__main__":
    run(command)
