"""Measure the paper's encoder and the mini model on a GPU, beside Luna's times on an L4.

`python -m tests.bench.gpu` (or `make bench-gpu`). Weights are random. Luna's times are of
the whole service (section 7.3, tables 5 and 6); here the encoder is measured, from token ids in the
host's memory to logits there, in windows of 512 tokens, which is what the paper settled on.
`--dry-run` goes the same way at tiny size on the CPU.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import typer

from moonlynx.eval.markdown import UNDEFINED, table
from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.backends.torch_encoder import make_network
from moonlynx.judge.contract.types import MoonlynxError, Record
from moonlynx.judge.terminal.messages import errors_as_messages

from .chips import L4, find_chip
from .networks import large_config, mini_config
from .origin import OUT, Origin, write
from .products import count_products

LUNA_ON_L4 = {4_000: 0.23, 16_000: 0.92}  # seconds
_LARGE, _MINI = "DeBERTa-v3-large", "mini"
_TINY = {
    "vocab_size": 100,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
}
_BYTES = 2  # of a weight in fp16 or bf16
GEMM = 8_192  # rows and columns of the product that a device's own rate is measured with

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class NoGpu(MoonlynxError, RuntimeError):
    """There is no GPU that torch can use."""


class Run(Record):
    """A model in one form, reading so many tokens at once.

    Attributes:
        form: "fp16" or "bf16", and what runs the model: "eager", "compile" or "tensorrt".
        seconds: of each round.
        flops: operations of a forward pass, as counted while it ran.
        weight_bytes: what must at least be read from memory.
    """

    model: str
    form: str
    tokens: int
    seconds: tuple[float, ...]
    flops: float
    weight_bytes: float


class GpuBench(Record):
    """A whole run; `gemm` is the device's measured rate for one large fp16 product, in FLOP/s."""

    origin: Origin
    device: str
    window: int
    gemm: float
    runs: tuple[Run, ...]
    left_out: dict[str, str]


@dataclass(frozen=True)
class _Plan:
    """What is measured: at full size on a GPU, or at tiny size on the CPU."""

    device: str
    window: int
    tokens: tuple[int, ...]
    rounds: int
    gemm: int
    compiler: str  # torch.compile's


_FULL = _Plan("cuda", 512, tuple(LUNA_ON_L4), 20, GEMM, "inductor")
_DRY = _Plan("cpu", 32, (50, 128), 2, 128, "aot_eager")  # needs no compiler of C++


@app.command()
def command(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tiny models on the CPU, to try the script.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for gpu.md and gpu.json.")] = OUT,
) -> None:
    """Measure encoders on a GPU."""
    with errors_as_messages():
        bench = measure(dry_run)
    write(out, "gpu", bench, render(bench))


def measure(dry_run: bool) -> GpuBench:
    """Measure all models in all forms that run here.

    Raises:
        MissingExtra: torch or transformers is missing.
        NoGpu: there is none, and it is no dry run.
    """
    device = find_device("torch", "transformers", dry_run=dry_run)
    import torch

    plan = _DRY if dry_run else _FULL
    origin = Origin.of("tests.bench.gpu", sys.argv[1:])
    runs: list[Run] = []
    left_out: dict[str, str] = {}
    for model, config in ((_LARGE, large_config()), (_MINI, mini_config())):
        if dry_run:
            config.update(_TINY)
        forms: dict[str, Any] = {}
        for dtype in (torch.float16, torch.bfloat16):
            network = make_network(config).to(plan.device, dtype).eval()
            name = str(dtype).removeprefix("torch.").replace("float", "fp").replace("bfp", "bf")
            forms |= {f"{name} {how}": form for how, form in _forms(network, plan.compiler)}
        for tokens in plan.tokens:
            runs += _measure_tokens(model, forms, tokens, plan, left_out)
        del forms, network
    return GpuBench(
        origin=origin,
        device=device,
        window=plan.window,
        gemm=measure_gemm(plan.device, plan.gemm),
        runs=tuple(runs),
        left_out=left_out,
    )


def find_device(*packages: str, dry_run: bool) -> str:
    """Return the name of the GPU, or of its substitute, before anything long begins.

    Raises:
        MissingExtra: one of the packages, torch among them, is missing.
        NoGpu: there is none, and it is no dry run.
    """
    if any(find_spec(package) is None for package in packages):
        raise MissingExtra("the bench", "train")
    import torch

    if dry_run:
        return "CPU (dry run)"
    if not torch.cuda.is_available():
        raise NoGpu("torch finds no CUDA device; run it on one, or try the script with --dry-run")
    name: str = torch.cuda.get_device_name()
    return name


def _forms(network: Any, compiler: str) -> Iterator[tuple[str, Any]]:
    import torch

    yield "eager", network
    yield "compile", torch.compile(network, backend=compiler, dynamic=False)
    with suppress(ImportError):
        import_module("torch_tensorrt")  # makes its backend known
        yield "tensorrt", torch.compile(network, backend="torch_tensorrt", dynamic=False)


def _measure_tokens(
    model: str, forms: Mapping[str, Any], tokens: int, plan: _Plan, left_out: dict[str, str]
) -> Iterator[Run]:
    """Yield runs of the forms in turns; one that fails, as a compiler may here, is left out."""
    import torch

    rows = -(-tokens // plan.window)
    network = next(iter(forms.values()))
    flops = count_products(network, rows, plan.window).flops
    size = sum(weight.numel() for weight in network.parameters())
    size -= network.trunk.get_input_embeddings().weight.numel()  # of the table few rows are read
    ids = torch.randint(1, network.trunk.config.vocab_size, (rows, plan.window))
    seconds: dict[str, list[float]] = {}
    for name, form in forms.items():
        try:
            for _ in range(2):
                _read(form, ids, plan.device)
        except Exception as error:  # compilers' errors share no base
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            left_out[f"{model} {name}, {tokens:,} tokens"] = reason
        else:
            seconds[name] = []
    for _ in range(plan.rounds):
        for name, found in seconds.items():
            found.append(_time(partial(_read, forms[name], ids, plan.device)))
    for name, found in seconds.items():
        yield Run(
            model=model,
            form=name,
            tokens=tokens,
            seconds=tuple(found),
            flops=flops,
            weight_bytes=_BYTES * size,
        )


def _read(form: Any, ids: Any, device: str) -> None:
    """Copy the ids to the device, run the model, and copy the logits back, which waits for them."""
    import torch

    with torch.inference_mode():
        there = ids.to(device)
        for logits in form(there, torch.ones_like(there), torch.zeros_like(there)):
            logits.cpu()


def _time(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def measure_gemm(device: str, size: int = GEMM) -> float:
    """Return the operations a second of a large fp16 product: what the device reaches at best."""
    import torch

    square = torch.randn(size, size).to(device, torch.float16)

    def run() -> None:
        (square @ square)[0, 0].item()  # waits for it

    run()
    return 2 * size**3 / min(_time(run) for _ in range(10))


def render(bench: GpuBench) -> str:
    """Return the run as Markdown."""
    chip = find_chip(bench.device)
    peak = f"{chip.flops / 1e12:.0f} by its data sheet" if chip else "unknown by data sheet"
    header = ("model", "form", "tokens", "p50 s", "p95 s", "tokens/s", "TFLOP", "x floor")
    sections = [
        "# Encoders on a GPU",
        bench.origin.describe(),
        f"{bench.device}: fp16 TFLOP/s {peak}, {bench.gemm / 1e12:.1f} measured with one large "
        f"product. Windows of {bench.window} tokens, random weights, {len(bench.runs[0].seconds)} "
        "rounds in turns; from token ids in the host's memory to logits there.",
        table((*header, "on an L4 at best", "at this x floor"), _rows(bench), left=(0, 1)),
        f"The floor is the roofline's: operations at the chip's peak, weights at its bandwidth; "
        f"`on an L4 at best` is that of an L4 ({L4.flops / 1e12:.0f} TFLOP/s dense, "
        f"{L4.bandwidth / 1e9:.0f} GB/s), and the last column what an L4 would take if it came as "
        "near to its own. Luna reports for its whole service on an L4 (440M parameters, TensorRT): "
        + ", ".join(f"{s} s at {tokens:,} tokens" for tokens, s in LUNA_ON_L4.items())
        + _luna(bench)
        + ".",
    ]
    if bench.left_out:
        lines = [f"- {name}: {reason}" for name, reason in bench.left_out.items()]
        sections.append("## Not measured\n\n" + "\n".join(lines))
    return "\n\n".join(sections) + "\n"


def _rows(bench: GpuBench) -> Iterator[tuple[str, ...]]:
    chip = find_chip(bench.device)
    for run in bench.runs:
        middle = median(run.seconds)
        on_l4 = L4.floor(run.flops, run.weight_bytes)
        ratio = middle / chip.floor(run.flops, run.weight_bytes) if chip else None
        yield (
            run.model,
            run.form,
            f"{run.tokens:,}",
            f"{middle:.4f}",
            f"{np.percentile(run.seconds, 95):.4f}",
            f"{run.tokens / middle:,.0f}",
            f"{run.flops / 1e12:.3g}",
            f"{ratio:.1f}" if ratio else UNDEFINED,
            f"{on_l4:.2g}",
            f"{ratio * on_l4:.2g}" if ratio else UNDEFINED,
        )


def _luna(bench: GpuBench) -> str:
    """Return how far above the L4's floor the paper's times are, where the same was measured."""
    floors = {
        run.tokens: L4.floor(run.flops, run.weight_bytes)
        for run in bench.runs
        if run.model == _LARGE and run.tokens in LUNA_ON_L4
    }
    ratios = [f"{LUNA_ON_L4[tokens] / floor:.1f}" for tokens, floor in floors.items()]
    return f" ({' and '.join(ratios)} x floor)" if ratios else ""


if __name__ == "__main__":
    app()
