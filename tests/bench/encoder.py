"""Measure the encoder in its forms, and the whole judge, beside LettuceDetect and the floor.

`python -m tests.bench.encoder` (or `make bench`). Seconds hold for one machine; ratios,
from rounds in which all took turns over the same texts, carry over. The floor is the time that the
network's multiply-adds take by themselves, at the rate this machine reached in the same rounds.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from moonlynx.judge.contract.types import MoonlynxError
from moonlynx.judge.judges.luna.weights import TOKENIZER
from moonlynx.judge.terminal.messages import echo, errors_as_messages

from .forms import Forms, find_forms
from .origin import OUT, Origin, write
from .products import Products
from .results import EncoderBench, Measurement, render
from .rounds import Budget, Cell, Rounds, measure_rounds
from .subjects import PARTS, LettuceDetect, ProductsAlone, Sample, Subject, WholeJudge

_SHIPPED = ("ONNX int8", "ONNX fp32", "torch fp32")  # the judge runs on the first there is
_JUDGE, _PEER = "judge on ", "LettuceDetect 17M"
_PRODUCTS = "products alone"
# What a form's products are in: those with weights, and attention's.
_KINDS = {
    "torch fp32": ("linear fp32", "attention fp32"),
    "torch bf16": ("linear bf16", "attention bf16"),
    "ONNX fp32": ("linear fp32", "attention fp32"),
    "ONNX int8": ("linear int8", "attention fp32"),
}
_TOKENS, _BATCHES = [500, 4_000, 16_000], [1, 32]

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class BenchError(MoonlynxError):
    """There is nothing to measure; says why."""


@app.command()
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
    out: Annotated[Path, typer.Option(help="Folder for encoder.md and encoder.json.")] = OUT,
) -> None:
    """Measure latency, tokens a second and memory of the encoder and the judge."""
    origin = Origin.of("tests.bench.encoder", sys.argv[1:], lettucedetect)
    cells = [Cell(each, count) for each in tokens for count in batch]
    with errors_as_messages():
        with tempfile.TemporaryDirectory() as scratch:
            _say("making the forms")
            forms = find_forms(weights, Path(scratch), window)
            subjects = _subjects(forms, window, lettucedetect)
            measured = measure_rounds(subjects, cells, Budget(seconds, rounds), _say)
        if not measured.samples:
            raise BenchError(f"nothing was measured: {'; '.join(measured.left_out.values())}")
    bench = _collect(origin, forms, measured, window)
    write(out, "encoder", bench, render(bench))


def _say(message: str) -> None:
    echo(message, err=True)


def _subjects(forms: Forms, window: int, package: Path | None) -> list[Subject]:
    shipped = next((forms.by_name[name] for name in _SHIPPED if name in forms.by_name), None)
    if shipped is None:
        reasons = "; ".join(forms.left_out.values()) or "the folder holds none that is known"
        raise BenchError(f"no form of the encoder can be measured: {reasons}")
    judge = WholeJudge(_JUDGE + shipped.name, shipped)
    subjects: list[Subject] = [judge, *forms.by_name.values()]
    if package is None:
        forms.left_out[_PEER] = "needs --lettucedetect"
    else:
        subjects.append(LettuceDetect(_PEER, package, shipped.folder / TOKENIZER))
    if forms.shape:
        subjects.append(ProductsAlone(_PRODUCTS, forms.shape, window))
    return subjects


def _collect(origin: Origin, forms: Forms, rounds: Rounds, window: int) -> EncoderBench:
    """Bring what was measured into the form that is written."""
    by_name: dict[str, list[Sample]] = {}
    for found in rounds.samples.values():
        for name, samples in found.items():
            by_name.setdefault(name, []).extend(samples)
    rates: dict[str, float] = {}
    for sample in by_name.pop(_PRODUCTS, ()):
        rates |= {kind: max(rate, rates.get(kind, 0.0)) for kind, rate in sample.facts.items()}
    peaks = {name: max(each.peak_mb for each in found) for name, found in by_name.items()}
    return EncoderBench(
        origin=origin,
        weights=forms.weights,
        window=window,
        base=next((name for name in (_PEER, "torch fp32") if name in peaks), next(iter(peaks), "")),
        measurements=tuple(
            Measurement(
                tokens=cell.tokens,
                batch=cell.batch,
                name=name,
                seconds=tuple(sample.seconds for sample in found[name]),
                floor=_floor(name, found[name], forms.products, rates, window),
                parts=_parts(found[name]),
            )
            for cell, found in rounds.samples.items()
            for name in found
            if name in peaks
        ),
        rates=rates,
        peak_mb=peaks,
        left_out=forms.left_out | rounds.left_out,
    )


def _parts(samples: Sequence[Sample]) -> dict[str, float] | None:
    if PARTS[0] not in samples[0].facts:
        return None
    return {part: median(sample.facts[part] for sample in samples) for part in PARTS}


def _floor(
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
    app()
