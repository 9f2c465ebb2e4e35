"""Adapters on a backbone, requests of a metric for them, and how fast they are answered."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.backends.labels import LabelBackend, LabelReply, LabelRequest
from moonlynx.judge.backends.pretrained import ADAPTER_WEIGHTS
from moonlynx.judge.contract.types import MetricInput
from moonlynx.judge.metrics.adapter import load_tokenizer
from moonlynx.judge.metrics.definition import load_definition
from moonlynx.judge.metrics.prompt import Encoded, Prompter

from .record import BenchError, Measurement
from .texts import make_examples

Floats = NDArray[np.float64]

METRIC = "toxicity"  # a boolean one: a request's answer is one probability
RANK = 16  # and alpha: Luna-2's, section 3.3
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj")
_PROMPTS = 4  # that every adapter answers
# vLLM on a CPU would compile for half a minute, and take half the memory for its cache.
_ON_CPU = {"TORCH_COMPILE_DISABLE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_HOST_IP": "127.0.0.1"}
_SPREAD = 1.0  # of the second factor, in units of 1 / sqrt(rank): enough to change every answer


def draw_adapters(backbone: Path, count: int, folder: Path) -> list[Path]:
    """Write so many adapters with random weights to `folder`, in PEFT's form.

    The same number is the same adapter on the same backbone, each large enough to change what the
    backbone answers.
    """
    from safetensors.numpy import save_file

    config = json.loads((backbone / "config.json").read_text(encoding="utf-8"))
    shapes = lora_shapes(config)
    written = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "r": RANK,
        "lora_alpha": RANK,
        "target_modules": list(TARGETS),
        "base_model_name_or_path": backbone.name,
    }
    folders = []
    for number in range(count):
        rng = np.random.default_rng(number)
        weights = {}
        for name, (outputs, inputs) in shapes.items():
            key = f"base_model.model.{name}"
            down = rng.normal(0, inputs**-0.5, (RANK, inputs))
            up = rng.normal(0, _SPREAD * RANK**-0.5, (outputs, RANK)) * outputs**-0.5
            weights[f"{key}.lora_A.weight"] = down.astype(np.float32)
            weights[f"{key}.lora_B.weight"] = up.astype(np.float32)
        own = folder / f"adapter-{number}"
        own.mkdir(parents=True)
        save_file(weights, own / ADAPTER_WEIGHTS)
        (own / "adapter_config.json").write_text(json.dumps(written), encoding="utf-8")
        folders.append(own)
    return folders


def lora_shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Return outputs and inputs of each projection that an adapter goes on, by a Llama's config."""
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    size = config.get("head_dim") or hidden // heads
    own, shared = heads * size, config["num_key_value_heads"] * size
    of = {
        "q_proj": (own, hidden),
        "k_proj": (shared, hidden),
        "v_proj": (shared, hidden),
        "o_proj": (hidden, own),
    }
    return {
        f"model.layers.{layer}.self_attn.{name}": of[name]
        for layer in range(config["num_hidden_layers"])
        for name in TARGETS
    }


def write_inputs(backbone: Path, tokens: int, count: int, seed: int) -> list[MetricInput]:
    """Return texts of so many of the backbone's tokens, no two alike."""
    tokenizer = load_tokenizer(backbone).backend_tokenizer
    return [
        MetricInput(input=each.question, output=" ".join((*each.context, each.answer)))
        for each in make_examples(tokenizer, tokens, count, seed)
    ]


def write_requests(backbone: Path, tokens: int, count: int, seed: int) -> list[LabelRequest]:
    """Return requests of the metric over the texts of `write_inputs`, for no adapter."""
    prompter = Prompter(load_definition(METRIC), load_tokenizer(backbone))
    labels = tuple(prompter.tokens.ids.values())
    requests = []
    for one in write_inputs(backbone, tokens, count, seed):
        encoded = prompter.encode(one, 1 << 30)
        assert isinstance(encoded, Encoded)
        requests.append(LabelRequest(tuple(encoded.ids), encoded.places, labels))
    return requests


def write_prompts(backbone: Path, tokens: int) -> list[LabelRequest]:
    """Return the requests that every adapter answers, over texts of so many tokens."""
    return write_requests(backbone, tokens, _PROMPTS, seed=1)


def choose_mixes(sizes: Collection[int], adapters: int) -> tuple[int, ...]:
    """Return how many adapters share a load: the sizes up to `adapters`, and that itself."""
    return tuple(sorted({n for n in sizes if n <= adapters} | {adapters}))


def time_mixes(
    backend: LabelBackend,
    names: Sequence[str],
    mixes: Sequence[int],
    rounds: int,
    write: Callable[[int], Sequence[LabelRequest]],
    of: Mapping[str, int],
) -> Iterator[Measurement]:
    """Yield the speed of as many requests with few adapters and with many, in turns.

    Args:
        backend: what scores them.
        names: of the adapters, as `backend` knows them.
        mixes: how many of them share the requests, the first the one to compare with.
        rounds: of each timing.
        write: returns the requests of a seed, other texts for each, so that no prefix is kept.
        of: what else the rows of the table say.
    """
    rates: dict[int, list[float]] = {mix: [] for mix in mixes}
    seed = 10
    for _ in range(rounds):
        for mix, found in rates.items():
            seed += 1
            requests = [replace(each, adapter=names[n % mix]) for n, each in enumerate(write(seed))]
            started = time.perf_counter()
            probabilities(backend.score(requests))
            found.append(len(requests) / (time.perf_counter() - started))
    one = float(np.median(rates[mixes[0]]))
    for mix, found in rates.items():
        middle = float(np.median(found))
        yield Measurement(
            table="Speed",
            of={**of, "adapters at once": mix},
            found={
                "requests/s": middle,
                "least": min(found),
                "most": max(found),
                "of one adapter's": middle / one,
            },
            samples=tuple(round(rate, 3) for rate in found),
        )


def start_vllm(backbone: Path, positions: int, slots: int) -> LabelBackend:
    """Start vLLM's engine in this process for prompts of so many tokens; raises as the engine."""
    import torch

    from moonlynx.judge.backends.vllm_labels import VLLMLabels

    # In a process of its own the engine would outlive its work, and this one would wait for it.
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    here = torch.cuda.is_available()
    if not here:
        for name, value in _ON_CPU.items():
            os.environ.setdefault(name, value)
    return VLLMLabels(
        str(backbone),
        max_model_len=positions,
        dtype="auto" if here else "float32",
        eager=True,
        adapters=slots,
    )


def ask_all(backend: LabelBackend, names: Sequence[str], prompts: Sequence[LabelRequest]) -> Floats:
    """Return P of every prompt by every adapter, shape (adapters, prompts)."""
    requests = [replace(prompt, adapter=name) for name in names for prompt in prompts]
    return probabilities(backend.score(requests)).reshape(len(names), len(prompts))


def probabilities(replies: Sequence[LabelReply]) -> Floats:
    """Return P of the first class of each reply, by the softmax over both.

    Raises:
        BenchError: a reply is an error.
    """
    for reply in replies:
        if reply.error is not None:
            raise BenchError(f"{reply.error.code}: {reply.error.message}")
    pairs = np.array([reply.logprobs[0] for reply in replies], dtype=np.float64)
    return np.asarray(1 / (1 + np.exp(pairs[:, 1] - pairs[:, 0])))
