"""Measure the paper's encoder and the mini model on a GPU, beside Luna's times on an L4.

`python -m tests.bench.gpu` (or `make bench-gpu`). Weights are random. Luna's times are of
the whole service (section 7.3, tables 5 and 6); here the encoder is measured, from token ids in the
host's memory to logits there, in windows of 512 tokens, which is what the paper settled on.
`--dry-run` goes the same way at tiny size on the CPU.

The roofline (Williams, Waterman, Patterson 2009) translates between GPUs: no run takes less time
than its operations at the peak rate, nor than the bytes it must move at the peak bandwidth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from statistics import median
from typing import Annotated, Any, NamedTuple

import typer

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.backends.torch_encoder import make_network

from .networks import large_config, mini_config
from .products import count_products
from .record import (
    AgainstOption,
    Bench,
    BenchError,
    Measurement,
    Origin,
    ReportOption,
    publish,
    run,
    spread,
)

DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Tiny models on the CPU, to try the script.")
]
LUNA_ON_L4 = {4_000: 0.23, 16_000: 0.92}  # seconds
LARGE = "DeBERTa-v3-large"
_TINY = {
    "vocab_size": 100,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
}
_BYTES = 2  # of a weight in fp16 or bf16
GEMM = 8_192  # rows and columns of the product that a device's own rate is measured with


class Chip(NamedTuple):
    """Peaks of a GPU.

    Attributes:
        flops: dense fp16 or bf16 operations a second on tensor cores (sheets often print twice as
            many, with sparsity).
        bandwidth: bytes a second of its memory.
    """

    name: str
    flops: float
    bandwidth: float

    def roofline(self, flops: float, moved: float) -> float:
        """Return the least seconds for so many operations and bytes."""
        return max(flops / self.flops, moved / self.bandwidth)


L4 = Chip("L4", 121e12, 300e9)
# NVIDIA's data sheets: L4; A100 80 GB SXM; H100 SXM; H200 SXM.
CHIPS = (
    L4,
    Chip("A100", 312e12, 2_039e9),
    Chip("H100", 989e12, 3_350e9),
    Chip("H200", 989e12, 4_800e9),
)


def find_chip(device: str) -> Chip | None:
    """Find a device's chip by the name that its driver gives; None where it is not known here.

    A part of a chip (MIG) is not: its peaks are not the sheet's.
    """
    words = device.replace("-", " ").split()
    if "MIG" in words:
        return None
    return next((chip for chip in CHIPS if chip.name in words), None)


@dataclass(frozen=True)
class _Plan:
    """What is measured: at full size on a GPU, or at tiny size on the CPU."""

    device: str
    window: int
    tokens: tuple[int, ...]
    rounds: int
    gemm: int
    compiler: str  # torch.compile's
    name: str  # of the device, by its driver


def command(
    dry_run: DryRunOption = False,
    report: ReportOption = None,
    against: AgainstOption = None,
) -> None:
    """Measure encoders on a GPU."""
    device = find_device("torch", "transformers", dry_run=dry_run)
    plan = _Plan("cuda", 512, tuple(LUNA_ON_L4), 20, GEMM, "inductor", device)
    if dry_run:  # with a compiler that needs none of C++
        plan = _Plan("cpu", 32, (50, 128), 2, 128, "aot_eager", device)
    publish(_measure(plan), "gpu", report, against)


def _measure(plan: _Plan) -> Bench:
    """Measure all models in all forms that run here."""
    import torch

    bench = Bench(title="Encoders on a GPU", origin=Origin.of("gpu"), notes=_notes(plan))
    for model, config in ((LARGE, large_config()), ("mini", mini_config())):
        if plan.device == "cpu":
            config.update(_TINY)
        forms: dict[str, Any] = {}
        for dtype in (torch.float16, torch.bfloat16):
            network = make_network(config).to(plan.device, dtype).eval()
            name = str(dtype).removeprefix("torch.").replace("float", "fp").replace("bfp", "bf")
            forms |= {f"{name} {how}": form for how, form in _forms(network, plan.compiler)}
        for tokens in plan.tokens:
            found = _measure_tokens(model, forms, tokens, plan, bench.left_out)
            bench = bench.adding(found)
        del forms, network
    return bench


def _notes(plan: _Plan) -> tuple[str, str]:
    chip, rate = find_chip(plan.name), measure_gemm(plan.device, plan.gemm)
    peak = f"{chip.flops / 1e12:.0f} by its data sheet" if chip else "unknown by data sheet"
    luna = ", ".join(f"{s} s at {tokens:,} tokens" for tokens, s in LUNA_ON_L4.items())
    return (
        f"{plan.name}: fp16 TFLOP/s {peak}, {rate / 1e12:.1f} measured with one large product. "
        f"Windows of {plan.window} tokens, random weights, {plan.rounds} rounds in turns; from "
        "token ids in the host's memory to logits there.",
        "The roofline: operations at the chip's peak, weights at its bandwidth. `L4 at best` is "
        f"that of an L4 ({L4.flops / 1e12:.0f} TFLOP/s dense, {L4.bandwidth / 1e9:.0f} GB/s), and "
        "`L4 s` what an L4 would take if it came as near to its own. Luna reports for its whole "
        f"service on an L4 (440M parameters, TensorRT): {luna}; `Luna x L4` is that by the L4's "
        "roofline.",
    )


def find_device(*packages: str, dry_run: bool) -> str:
    """Return the name of the GPU, or of its substitute, before anything long begins.

    Raises:
        MissingExtra: one of the packages, torch among them, is missing.
        BenchError: there is none, and it is no dry run.
    """
    if any(find_spec(package) is None for package in packages):
        raise MissingExtra("the bench", "train")
    import torch

    if dry_run:
        return "CPU (dry run)"
    if not torch.cuda.is_available():
        raise BenchError(
            "torch finds no CUDA device; run it on one, or try the script with --dry-run"
        )
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
    model: str,
    forms: Mapping[str, Any],
    tokens: int,
    plan: _Plan,
    left_out: dict[str, str],
) -> Iterator[Measurement]:
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
        of: dict[str, str | int] = {"model": model, "form": name, "tokens": tokens}
        yield one_pass(of, found, flops, _BYTES * size, plan.name)


def one_pass(
    of: dict[str, str | int],
    seconds: Sequence[float],
    flops: float,
    weight_bytes: float,
    device: str,
) -> Measurement:
    """Return the row of a model in one form: fp16 or bf16, by eager, compile or tensorrt.

    Args:
        of: model, form, and the tokens read at once.
        seconds: of each round.
        flops: operations of a forward pass, as counted while it ran.
        weight_bytes: what must at least be read from memory.
        device: by its driver's name.
    """
    tokens = int(of["tokens"])
    chip, middle = find_chip(device), median(seconds)
    on_l4 = L4.roofline(flops, weight_bytes)
    ratio = middle / chip.roofline(flops, weight_bytes) if chip else None
    luna = LUNA_ON_L4.get(tokens) if of["model"] == LARGE else None
    return Measurement(
        table="One pass",
        of=of,
        found={
            **spread(seconds),
            "tokens/s": tokens / middle,
            "TFLOP": flops / 1e12,
            "x roofline": ratio,
            "L4 at best": on_l4,
            "L4 s": ratio * on_l4 if ratio else None,
            "Luna x L4": luna / on_l4 if luna else None,
        },
        samples=tuple(seconds),
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


if __name__ == "__main__":
    run(command)
