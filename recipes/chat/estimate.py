"""What a run will take, before it is started: memory of a GPU and time, from shapes alone."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from moonlynx.judge.backends.base import BackendError

from .fitting import Fitting, Length
from .model import BaseNotUsable, adapted_layers, as_computed, find_source, whole_base
from .settings import Run

_GB, _TERA = 1e9, 1e12
_WEIGHT_BYTES = {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0}
_NF4_BYTES = 0.5 + 0.127 / 8  # half a byte, and doubly quantised scales of blocks of 64
_STATE_BYTES = {
    "lion_32bit": 4.0,
    "paged_lion_8bit": 1.0,
    "adamw_torch_fused": 8.0,
    "paged_adamw_8bit": 2.0,
}
# What a decoder layer keeps of a token for its gradient, as measured of Llama's with sdpa: bytes an
# element of the hidden size (norms and residuals stay in the weights' precision or in float32, in
# bf16 too), and tensors of the intermediate size around the gate.
_KEPT_HIDDEN_BYTES = {"fp32": 34.0, "bf16": 31.0, "fp16": 31.0}
_KEPT_INTERMEDIATE = 4
# As measured of adapters in bf16 on 0.5B and 135M, with glibc told to keep freed memory.
_ON_CPU = "; a CPU's process takes more (4.4 and 5.5 times as much was measured)"
_ONCE = "; less, as what rows begin with in common is read once (--trial measures it)"
# TRL 1.16 never holds all logits: its output layer works through them in tiles of this size.
_TILE_TOKENS, _TILE_WIDTH = 4096, 32768


class Shape(NamedTuple):
    """The sizes of a decoder, as in its configuration; parameters by kind."""

    layers: int
    hidden: int
    intermediate: int
    vocabulary: int
    parameters: int
    linear: int  # parameters in the linear layers of the decoder's blocks
    adapters: int  # those of the run's adapters, 0 without
    differentiated: int  # layers that the gradient passes, from the topmost down


class Estimate(NamedTuple):
    """Memory of one GPU in GB, with activations at the longest row, and hours of all GPUs."""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    memory: float
    steps: int
    tokens: int
    hours: float


def read_shape(run: Run) -> Shape:
    """Read the base's configuration and build the model without memory.

    Raises:
        BaseNotUsable: it is not available.
        SettingsError: it has fewer layers than are to get adapters.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    base = whole_base(run)
    try:
        config = AutoConfig.from_pretrained(**find_source(run, base))
    except (OSError, ValueError, BackendError) as error:
        raise BaseNotUsable(f"base: cannot read the configuration of {run.base}: {error}") from None
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    layers = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and module is not model.get_output_embeddings()
    }
    differentiated = adapted_layers(run, config.num_hidden_layers)
    return Shape(
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        intermediate=config.intermediate_size,
        vocabulary=config.vocab_size,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        linear=sum(module.weight.numel() for module in layers.values()),
        # The layers are alike.
        adapters=_adapter_parameters(run, layers) * differentiated // config.num_hidden_layers,
        differentiated=differentiated,
    )


def _adapter_parameters(run: Run, layers: dict[str, Any]) -> int:
    if run.lora is None:
        return 0
    targets = run.lora.targets
    return sum(
        run.lora.rank * (module.in_features + module.out_features)
        for name, module in layers.items()
        if targets == "all-linear" or name.rpartition(".")[2] in targets
    )


def estimate(run: Run, shape: Shape, lengths: Sequence[Length]) -> Estimate:
    """Estimate memory and time of a run over rows of these lengths, at least one row."""
    trained = shape.adapters or shape.parameters
    # Full sharding splits all that belongs to weights; adapters are trained on whole copies.
    shards = run.processes if run.method == "full" and run.sharding == "all" else 1
    weights = _weight_bytes(run, shape) / shards
    gradients = 4.0 * trained / shards
    optimizer = _STATE_BYTES[run.optimizer] * trained / shards
    if run.sharding == "optimizer":  # which holds the weights in full precision, too
        weights = gradients = _WEIGHT_BYTES[run.precision] * trained
        optimizer = (4.0 + _STATE_BYTES[run.optimizer]) * trained / run.processes
    activations = _activation_bytes(run, shape, max(tokens for tokens, _ in lengths))
    if shards > 1:  # one layer is gathered while the next is
        activations += 2 * _WEIGHT_BYTES[run.precision] * shape.linear / shape.layers
    total = round(run.epochs * sum(tokens for tokens, _ in lengths))
    peak = run.processes * run.hardware.tflops * _TERA * run.hardware.utilisation
    return Estimate(
        weights=weights / _GB,
        gradients=gradients / _GB,
        optimizer=optimizer / _GB,
        activations=activations / _GB,
        memory=(weights + gradients + optimizer + activations) / _GB,
        steps=run.steps(len(lengths)),
        tokens=total,
        hours=operations(run, shape, lengths) * run.epochs / peak / 3600,
    )


def _weight_bytes(run: Run, shape: Shape) -> float:
    if run.method == "full":
        return 4.0 * shape.parameters
    width = _WEIGHT_BYTES[run.precision]
    frozen = width * shape.parameters
    if run.method == "qlora":
        frozen -= (width - _NF4_BYTES) * shape.linear
    return frozen + 4.0 * shape.adapters


def _activation_bytes(run: Run, shape: Shape, longest: int) -> float:
    width = _WEIGHT_BYTES[run.precision]
    kept = _KEPT_HIDDEN_BYTES[run.precision] * shape.hidden
    kept += _KEPT_INTERMEDIATE * width * shape.intermediate
    # Weights that are trained whole in one process stay in float32, and so do their residuals.
    whole = run.method == "full" and run.processes == 1
    casts = 0.0
    if run.checkpointing:  # only each layer's input, and all of the one that is computed again
        kept += shape.layers * shape.hidden * (4.0 if whole else width)
    else:
        kept *= shape.differentiated
        if whole and run.precision != "fp32":
            casts = width * shape.linear
    tokens = run.rows_at_once * longest
    return tokens * kept + min(tokens, _TILE_TOKENS) * _TILE_WIDTH * width + casts


def operations(run: Run, shape: Shape, lengths: Sequence[Length]) -> float:
    """Return one epoch's operations: 2 a weight forward, 2 for inputs' and weights' gradients.

    With attention's own products (causal, so half of them), and once more forward for what
    checkpoints drop. Frozen weights get no gradient, nor does anything below the lowest adapter.
    """
    share = shape.differentiated / shape.layers
    passes = 1 + run.checkpointing + share * (1 + (run.method == "full"))
    layers = 2.0 * shape.linear * passes
    output = 2.0 * shape.hidden * shape.vocabulary * (2 + (run.method == "full"))
    attention = 2.0 * shape.layers * shape.hidden * (1 + run.checkpointing + 2 * share)
    return sum(
        tokens * (layers + attention * tokens) + scored * output for tokens, scored in lengths
    )


def describe(run: Run, fitting: Fitting) -> str:
    """Return the estimate of a run over these chats, as text."""
    whole = Length(run.max_length, run.max_length)
    found = estimate(as_computed(run), read_shape(run), fitting.lengths or [whole])
    room = run.hardware.memory_gb
    fits = "fits into" if found.memory <= room else "DOES NOT FIT INTO"
    return "\n".join(
        (
            f"{run.base}, {run.method}: {len(fitting.chats)} rows, {len(fitting.too_long)} left "
            f"out as longer than {run.max_length} tokens",
            f"memory of a GPU: {found.memory:.1f} GB ({found.weights:.1f} weights, "
            f"{found.gradients:.1f} gradients, {found.optimizer:.1f} optimiser, "
            f"{found.activations:.1f} activations at the longest row); {fits} {room:.0f} GB"
            f"{_ON_CPU if run.hardware.gpus == 0 else ''}",
            f"{found.steps} steps over {found.tokens:,} tokens: about {found.hours:.1f} hours on "
            f"{run.processes} of {run.hardware.tflops:g} TFLOPS at "
            f"{run.hardware.utilisation:.0%}{_ONCE if run.by_document else ''}",
        )
    )
