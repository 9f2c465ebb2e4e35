"""Measure Luna-2's heads on a GPU, at the sizes of Llama 3.2 3B and 3.1 8B.

`python -m tests.bench.gpu_luna2` (or `make bench-gpu`). Weights and adapters are random, which
makes no difference to speed; they go through the backend that heads are judged by, from token ids
in the host's memory to logprobs there. The roofline: operations of the weights and of causal
attention at the rate of one large product, as measured on the device. `--dry-run` goes the same way
at tiny size on the CPU.
"""

from __future__ import annotations

import gc
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
from moonlynx.judge.decision.cost import load_prices

from .gpu import GEMM, DryRunOption, find_chip, find_device, measure_gemm
from .lora import RANK, draw_adapters, lora_shapes, probabilities
from .record import AgainstOption, Bench, Measurement, Origin, ReportOption, publish, run, spread

# Seconds on an H100, by tokens (Luna-2, Table 5).
PAPER = {
    "3B": {500: 0.1, 2_000: 0.1, 15_000: 0.6, 100_000: 6.0},
    "8B": {500: 0.1, 2_000: 0.15, 15_000: 1.0, 100_000: 10.0},
}
_WARM = 2  # runs before those that count
_LABELS = (5, 6)  # any two tokens
_COMMON = {"num_key_value_heads": 8, "vocab_size": 128_256, "max_position_embeddings": 131_072}
_VARIED = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
# Llama 3.2 3B and Llama 3.1 8B, as their configurations give them.
_SIZES = {
    "3B": _COMMON | dict(zip(_VARIED, (3_072, 8_192, 28, 24), strict=True)),
    "8B": _COMMON | dict(zip(_VARIED, (4_096, 14_336, 32, 32), strict=True)),
}
_TINY = dict(zip((*_VARIED, *_COMMON), (64, 128, 2, 4, 2, 100, 512), strict=True))


@dataclass(frozen=True)
class Plan:
    """What is measured: at full size on a GPU, or at tiny size on the CPU.

    Attributes:
        device, load: as the backend names them.
        tokens: of the prompts whose latency is measured.
        loaded: of the prompts under load: the mean input of the paper's Table 4.
        adapters: numbers of them that share the load.
        requests: under load, at once; `batch` of them are computed together.
        name: the device's.
        rate: of the device, in operations a second.
    """

    device: str
    load: str
    tokens: tuple[int, ...]
    loaded: int
    adapters: tuple[int, ...]
    requests: int
    batch: int
    rounds: int
    name: str
    rate: float


def command(
    size: Annotated[list[str] | None, typer.Option(help="3B or 8B, or both.")] = None,
    dry_run: DryRunOption = False,
    report: ReportOption = None,
    against: AgainstOption = None,
) -> None:
    """Measure heads on a GPU: latency, load shared by many adapters, cost."""
    sizes = size or list(_SIZES)
    if unknown := set(sizes) - set(_SIZES):
        raise typer.BadParameter(f"--size: there is no {min(unknown)}; give 3B or 8B")
    name = find_device("peft", "torch", "transformers", dry_run=dry_run)
    if dry_run:
        plan = Plan("cpu", "fp32", (20, 50), 30, (1, 4), 8, 4, 2, name, measure_gemm("cpu", 128))
    else:
        lengths, rate = tuple(PAPER["3B"]), measure_gemm("cuda", GEMM)
        plan = Plan("cuda", "bf16", lengths, 1_250, (1, 8, 64, 200), 200, 8, 5, name, rate)
    bench = Bench(title="Luna-2 on a GPU", origin=Origin.of("gpu_luna2"), notes=_notes(plan))
    for each in sizes:
        for found in _Heads(each, _TINY if dry_run else _SIZES[each], plan).measure():
            bench = bench.adding([found])
            publish(bench, "gpu-luna2", report, against)  # what is known so far


def _notes(plan: Plan) -> tuple[str, ...]:
    prices = load_prices()
    return (
        f"{plan.name}: {plan.rate / 1e12:.1f} fp16 TFLOP/s measured with one large product. Random "
        f"weights, adapters of rank {RANK}. The roofline is the operations at the measured rate; "
        "the paper's times are of an H100, end to end (Table 5).",
        f"Cost of 1,000 requests in {prices.currency} by the GPU's price an hour as of "
        f"{prices.updated.isoformat()} ({prices.gpu_source}), the GPU busy all the time. The paper "
        "gives 0.01 for 1,000 evaluations of 1,250 tokens by 3B (Table 4), and 0.02 a million "
        "tokens in its text.",
    )


@dataclass(frozen=True)
class _Heads:
    """Heads on a model of one size."""

    size: str
    shape: Mapping[str, int]
    plan: Plan

    def measure(self) -> Iterator[Measurement]:
        """Yield the latency of each length, then the speed under each load."""
        with tempfile.TemporaryDirectory() as scratch:
            model = Path(scratch, "model")
            self._write_model(model)
            folders = draw_adapters(model, max(self.plan.adapters), Path(scratch, "adapters"))
            yield from self._latency(model, folders[:1])
            yield from self._load(model, folders)

    def _write_model(self, folder: Path) -> None:
        """Write a Llama with random weights."""
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM

        dtype = torch.bfloat16 if self.plan.load == "bf16" else torch.float32
        config = LlamaConfig(
            **self.shape, rope_theta=500_000.0, tie_word_embeddings=True, dtype=dtype
        )
        with torch.device(self.plan.device):
            LlamaForCausalLM(config).to(dtype).save_pretrained(folder)

    def _bring_up(
        self, model: Path, folders: Sequence[Path], batch: int
    ) -> tuple[LabelBackend, list[str]]:
        from moonlynx.judge.backends.transformers_labels import TransformersLabels

        device, load = self.plan.device, self.plan.load
        backend = TransformersLabels(str(model), device=device, load=load, batch=batch)
        return backend, [backend.attach("drawn", folder) for folder in folders]

    def _latency(self, model: Path, folders: Sequence[Path]) -> Iterator[Measurement]:
        """Yield the latency of one prompt at a time with one head."""
        backend, (name,) = self._bring_up(model, folders, 1)
        rng = np.random.default_rng(0)
        for tokens in self.plan.tokens:
            requests = [self._request(rng, tokens, name) for _ in range(_WARM + self.plan.rounds)]
            seconds = [_time(backend, [request]) for request in requests][_WARM:]
            flops = count_flops(self.shape, tokens)
            yield latency(self.size, tokens, seconds, flops, self.plan.rate)
        _release()

    def _load(self, model: Path, folders: Sequence[Path]) -> Iterator[Measurement]:
        """Yield the speed of as many requests with few heads and with many, all resident."""
        plan, rng = self.plan, np.random.default_rng(1)
        backend, names = self._bring_up(model, folders, plan.batch)
        for adapters in plan.adapters:
            requests = [
                self._request(rng, plan.loaded, names[n % adapters]) for n in range(plan.requests)
            ]
            _time(backend, requests[: plan.batch])
            one = median(_time(backend, requests) for _ in range(2)) / plan.requests
            yield Measurement(
                table="Many adapters",
                of={
                    "model": self.size,
                    "adapters": adapters,
                    "tokens": plan.loaded,
                    "batch": plan.batch,
                },
                found={
                    "requests/s": 1 / one,
                    "x roofline": one * plan.rate / count_flops(self.shape, plan.loaded),
                    "cost of 1,000": cost(plan.name, 1_000 * one),
                },
            )
        _release()

    def _request(self, rng: np.random.Generator, tokens: int, adapter: str) -> LabelRequest:
        ids = tuple(rng.integers(10, self.shape["vocab_size"], tokens).tolist())
        return LabelRequest(ids, (tokens,), _LABELS, adapter)


def latency(
    size: str, tokens: int, seconds: Sequence[float], flops: float, rate: float
) -> Measurement:
    """Return the row of one prompt at a time, of so many operations."""
    middle, paper = median(seconds), PAPER[size].get(tokens)
    return Measurement(
        table="One prompt at a time",
        of={"model": size, "tokens": tokens},
        found={
            **spread(seconds),
            "TFLOP": flops / 1e12,
            "x roofline": middle * rate / flops,
            "paper s": paper,
            "of it": middle / paper if paper else None,
        },
        samples=tuple(seconds),
    )


def cost(device: str, seconds: float) -> float | None:
    """Return the price of so many seconds of a GPU; None where it is not known."""
    chip = find_chip(device)
    hour = load_prices().gpu_hours.get(chip.name) if chip else None
    return None if hour is None else seconds * hour / 3600


def _time(backend: Any, requests: Sequence[LabelRequest]) -> float:
    started = time.perf_counter()
    probabilities(backend.score(requests))  # in the host's memory: the device is done
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
    run(command)
