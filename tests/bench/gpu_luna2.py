"""Measure Luna-2's heads on a GPU, at the sizes of Llama 3.2 3B and 3.1 8B.

`python -m tests.bench.gpu_luna2` (or `make bench-gpu`). Weights and adapters are random,
which makes no difference to speed; they go through the backend that heads are judged by, from token
ids in the host's memory to logprobs there. The floor is the roofline's: operations of the weights
and of causal attention at the rate of one large product, as measured on the device. `--dry-run`
goes the same way at tiny size on the CPU.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import typer

from moonlynx.judge.backends.labels import LabelBackend, LabelRequest
from moonlynx.judge.terminal.messages import errors_as_messages

from .gpu import GEMM, find_device, measure_gemm
from .gpu_luna2_report import PAPER, HeadsBench, Latency, Load, render
from .lora import RANK, chances, draw_adapters, lora_shapes
from .origin import OUT, Origin, write

_WARM = 2  # runs before those that count
_LABELS = (5, 6)  # any two tokens
_SIZES: Mapping[str, Mapping[str, int]] = {
    "3B": {
        "hidden_size": 3_072,
        "intermediate_size": 8_192,
        "num_hidden_layers": 28,
        "num_attention_heads": 24,
        "num_key_value_heads": 8,
        "vocab_size": 128_256,
        "max_position_embeddings": 131_072,
    },
    "8B": {
        "hidden_size": 4_096,
        "intermediate_size": 14_336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128_256,
        "max_position_embeddings": 131_072,
    },
}
"""The shapes of Llama 3.2 3B and Llama 3.1 8B, as their configurations give them."""

_TINY = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 100,
    "max_position_embeddings": 512,
}

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True)
class _Plan:
    """What is measured: at full size on a GPU, or at tiny size on the CPU.

    Attributes:
        device, load: as the backend names them.
        tokens: of the prompts whose latency is measured.
        loaded: of the prompts under load: the mean input of the paper's Table 4.
        adapters: numbers of them that share the load.
        requests: under load, at once; `batch` of them are computed together.
        gemm: rows and columns of the product that the device's rate is measured with.
    """

    device: str
    load: str
    tokens: tuple[int, ...]
    loaded: int
    adapters: tuple[int, ...]
    requests: int
    batch: int
    rounds: int
    gemm: int


_FULL = _Plan("cuda", "bf16", tuple(PAPER["3B"]), 1_250, (1, 8, 64, 200), 200, 8, 5, GEMM)
_DRY = _Plan("cpu", "fp32", (20, 50), 30, (1, 4), 8, 4, 2, 128)


@app.command()
def command(
    size: Annotated[list[str] | None, typer.Option(help="3B or 8B, or both.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="A tiny model on the CPU, to try the script.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for gpu-luna2.md and .json.")] = OUT,
) -> None:
    """Measure heads on a GPU: latency, load shared by many adapters, cost."""
    sizes = size or list(_SIZES)
    if unknown := set(sizes) - set(_SIZES):
        raise typer.BadParameter(f"--size: there is no {min(unknown)}; give 3B or 8B")
    with errors_as_messages():
        for bench in measure(sizes, dry_run=dry_run):
            write(out, "gpu-luna2", bench, render(bench))


def measure(sizes: Sequence[str], *, dry_run: bool) -> Iterator[HeadsBench]:
    """Yield what is known so far of models of these sizes, after each length and each load.

    Raises:
        MissingExtra: torch, transformers or PEFT is missing.
        NoGpu: there is none, and it is no dry run.
    """
    device = find_device("peft", "torch", "transformers", dry_run=dry_run)
    plan = _DRY if dry_run else _FULL
    origin = Origin.of("tests.bench.gpu_luna2", sys.argv[1:])
    bench = HeadsBench(
        origin=origin,
        device=device,
        gemm=measure_gemm(plan.device, plan.gemm),
        bytes_of_adapter={},
        latencies=(),
        loads=(),
    )
    for size in sizes:
        shape = _TINY if dry_run else _SIZES[size]
        with tempfile.TemporaryDirectory() as scratch:
            model, adapters = Path(scratch, "model"), Path(scratch, "adapters")
            _write_model(model, shape, plan)
            folders = draw_adapters(model, max(plan.adapters), adapters)
            taken = sum(file.stat().st_size for file in folders[0].iterdir())
            sizes_on_disk = bench.bytes_of_adapter | {size: taken}
            bench = bench.model_copy(update={"bytes_of_adapter": sizes_on_disk})
            for latency in _measure_latency(size, model, folders[:1], shape, plan):
                bench = bench.model_copy(update={"latencies": (*bench.latencies, latency)})
                yield bench
            for load in _measure_load(size, model, folders, shape, plan):
                bench = bench.model_copy(update={"loads": (*bench.loads, load)})
                yield bench


def _write_model(folder: Path, shape: Mapping[str, int], plan: _Plan) -> None:
    """Write a Llama with random weights."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    dtype = torch.bfloat16 if plan.load == "bf16" else torch.float32
    config = LlamaConfig(**shape, rope_theta=500_000.0, tie_word_embeddings=True, dtype=dtype)
    with torch.device(plan.device):
        LlamaForCausalLM(config).to(dtype).save_pretrained(folder)


def _bring_up(
    model: Path, folders: Sequence[Path], plan: _Plan, batch: int
) -> tuple[Any, list[str]]:
    from moonlynx.judge.backends.transformers_labels import TransformersLabels

    backend = TransformersLabels(str(model), device=plan.device, load=plan.load, batch=batch)
    return backend, [backend.attach("drawn", folder) for folder in folders]


def _measure_latency(
    size: str, model: Path, folders: Sequence[Path], shape: Mapping[str, int], plan: _Plan
) -> Iterator[Latency]:
    """Yield the latency of one prompt at a time with one head."""
    backend, (name,) = _bring_up(model, folders, plan, 1)
    rng = np.random.default_rng(0)
    for tokens in plan.tokens:
        seconds = []
        for number in range(_WARM + plan.rounds):
            request = _request(rng, tokens, shape, name)
            took = _time(backend, [request])
            if number >= _WARM:
                seconds.append(took)
        yield Latency(
            size=size, tokens=tokens, seconds=tuple(seconds), flops=count_flops(shape, tokens)
        )
    _release()


def _measure_load(
    size: str, model: Path, folders: Sequence[Path], shape: Mapping[str, int], plan: _Plan
) -> Iterator[Load]:
    """Yield the speed of as many requests with few heads and with many, all heads resident."""
    backend, names = _bring_up(model, folders, plan, plan.batch)
    rng = np.random.default_rng(1)
    for adapters in plan.adapters:
        requests = [
            _request(rng, plan.loaded, shape, names[n % adapters]) for n in range(plan.requests)
        ]
        _time(backend, requests[: plan.batch])
        seconds = median(_time(backend, requests) for _ in range(2))
        yield Load(
            size=size,
            adapters=adapters,
            tokens=plan.loaded,
            requests=plan.requests,
            batch=plan.batch,
            seconds=seconds,
            flops=plan.requests * count_flops(shape, plan.loaded),
        )
    _release()


def _request(
    rng: np.random.Generator, tokens: int, shape: Mapping[str, int], adapter: str
) -> LabelRequest:
    ids = tuple(rng.integers(10, shape["vocab_size"], tokens).tolist())
    return LabelRequest(ids, (tokens,), _LABELS, adapter)


def _time(backend: LabelBackend, requests: Sequence[LabelRequest]) -> float:
    started = time.perf_counter()
    chances(backend.score(requests))  # which are in the host's memory: the device is done
    return time.perf_counter() - started


def _release() -> None:
    """Free the memory of a model that nothing refers to any more."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def count_flops(shape: Mapping[str, int], tokens: int) -> float:
    """Return the operations of one prompt: weights, adapter, and the causal half of attention.

    Of the logits there is one position, and embeddings are looked up.
    """
    hidden, layers = shape["hidden_size"], shape["num_hidden_layers"]
    projections = list(lora_shapes(shape).values())
    weights = sum(outputs * inputs for outputs, inputs in projections)
    weights += layers * 3 * hidden * shape["intermediate_size"]
    weights += RANK * sum(outputs + inputs for outputs, inputs in projections)
    attention = layers * hidden * tokens * (tokens + 1)  # products with keys, and with values
    return 2.0 * (weights * tokens + attention + hidden * shape["vocab_size"])


if __name__ == "__main__":
    app()
