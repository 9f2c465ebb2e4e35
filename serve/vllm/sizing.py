"""What a deployment takes, before it is started: memory of each GPU, and throughput by roofline.

Memory is counted from the model's shape; only the workspace is a rule of thumb. Throughput is an
estimate: prompts are bound by arithmetic, replies by memory bandwidth, each at a stated share of
the GPU's peak (the roofline of Williams et al. 2009).
"""

from typing import Annotated, Literal, NamedTuple

from pydantic import Field, StrictInt

from moonlynx.judge.contract.types import Record

Precision = Literal["bf16", "fp8", "awq", "fp32"]
AtLeastOne = Annotated[StrictInt, Field(ge=1)]

GB, _TERA = 1e9, 1e12
# Bytes a weight of the blocks' linear layers. AWQ: 4 bits, and for each group of 128 a scale of 16
# bits and a zero point of 4 (Lin et al. 2023). Embeddings, norms and output layer stay as they are.
_LINEAR_BYTES = {"bf16": 2.0, "fp8": 1.0, "awq": 0.5 + 2.5 / 128, "fp32": 4.0}
_OTHER_BYTES = {"bf16": 2.0, "fp8": 2.0, "awq": 2.0, "fp32": 4.0}

# Rules of thumb, not measured here. Of a GPU: CUDA's context, captured graphs and NCCL's buffers.
_FIXED_GB = 1.5
ARITHMETIC = 0.4  # share of the peak reached in reading prompts
BANDWIDTH = 0.6  # share of the peak reached in writing replies


class Gpu(NamedTuple):
    """A GPU as its data sheet has it."""

    memory: float  # in GB of 10^9 bytes
    tflops: float  # dense peak in bf16, 10^12 operations a second
    tflops_fp8: float  # the same in FP8; that of bf16 where it has no FP8 units
    bandwidth: float  # of its memory, in GB a second


GpuKind = Literal["h100", "a100", "l4"]
# NVIDIA's data sheets: H100 SXM 80 GB, A100 SXM 80 GB, L4; the figures without sparsity.
GPUS: dict[GpuKind, Gpu] = {
    "h100": Gpu(80, 989, 1979, 3350),
    "a100": Gpu(80, 312, 312, 2039),
    "l4": Gpu(24, 121, 242, 300),
}


class Shape(Record):
    """The sizes of a decoder of the Llama kind, as in its config.json."""

    layers: AtLeastOne
    hidden: AtLeastOne
    intermediate: AtLeastOne
    heads: AtLeastOne
    kv_heads: AtLeastOne
    head_size: AtLeastOne = 128
    vocabulary: AtLeastOne
    tied: bool = False  # the output layer is the embedding

    @property
    def linear(self) -> int:
        """Return the number of weights in the linear layers of all blocks."""
        return self.layers * sum(width_in * width_out for width_in, width_out in self._matrices())

    @property
    def parameters(self) -> int:
        """Return the number of all weights: linear layers, embedding, output layer, norms."""
        tables = 1 if self.tied else 2
        norms = self.hidden * (2 * self.layers + 1)
        return self.linear + tables * self.vocabulary * self.hidden + norms

    def adapter(self, rank: int) -> int:
        """Return the number of weights of a low-rank adapter on all linear layers."""
        return rank * self.layers * sum(sum(matrix) for matrix in self._matrices())

    def _matrices(self) -> list[tuple[int, int]]:
        queries, keys = self.heads * self.head_size, self.kv_heads * self.head_size
        attention = [(self.hidden, queries), (queries, self.hidden), *[(self.hidden, keys)] * 2]
        return [*attention, *[(self.hidden, self.intermediate)] * 3]


class Load(Record):
    """What the throughput is estimated for: tokens of a prompt and of its reply."""

    prompt: AtLeastOne = 2000
    reply: AtLeastOne = 150


class Serving(NamedTuple):
    """How a model is served, as far as memory and time go."""

    shape: Shape
    precision: Precision
    gpus: int  # that share the model (tensor parallel)
    memory: float  # GB of each that may be used
    requests: int  # under way at most
    batched_tokens: int  # read at once at most
    adapters: int = 0  # of LoRA, held at once
    rank: int = 0


class Memory(NamedTuple):
    """Memory of each GPU in GB; the cache takes what the rest leaves."""

    weights: float
    adapters: float
    workspace: float
    cache: float  # for keys and values; negative where the rest does not fit
    tokens: int  # that the cache holds over all GPUs


class Throughput(NamedTuple):
    """Answers a second with as many requests under way as fit, and seconds for one alone."""

    answers: float
    together: int
    alone: float


def cache_bytes(shape: Shape, precision: Precision, gpus: int = 1) -> float:
    """Return the bytes of a token's keys and values on each GPU; heads are split across GPUs."""
    heads = max(1.0, shape.kv_heads / gpus)
    return 2 * shape.layers * heads * shape.head_size * _OTHER_BYTES[precision]


def weight_bytes(shape: Shape, precision: Precision) -> float:
    """Return the bytes of all weights as they are held, over all GPUs."""
    others = shape.parameters - shape.linear
    return shape.linear * _LINEAR_BYTES[precision] + others * _OTHER_BYTES[precision]


def memory_of(serving: Serving) -> Memory:
    """Count the memory of each GPU."""
    shape, width = serving.shape, _OTHER_BYTES[serving.precision]
    weights = weight_bytes(shape, serving.precision) / serving.gpus
    # vLLM makes room for all linear layers, whichever an adapter has; not split, to be safe.
    adapters = serving.adapters * shape.adapter(serving.rank) * width
    # The widest layer's tensors, and logits in float32 with their softmax and its logarithm.
    layer = 2 * shape.intermediate / serving.gpus + 3 * shape.hidden
    workspace = _FIXED_GB * GB + serving.batched_tokens * layer * width
    workspace += 3 * 4.0 * serving.requests * shape.vocabulary
    cache = serving.memory * GB - weights - adapters - workspace
    tokens = int(cache / cache_bytes(shape, serving.precision, serving.gpus))
    return Memory(weights / GB, adapters / GB, workspace / GB, cache / GB, max(0, tokens))


def throughput_of(serving: Serving, gpu: Gpu, load: Load) -> Throughput:
    """Estimate the throughput for answers that share no text."""
    memory = memory_of(serving)
    together = max(1, min(serving.requests, memory.tokens // (load.prompt + load.reply)))
    read = _seconds_to_read(serving, gpu, load)

    def answer(requests: int) -> float:
        """Return the seconds of one answer's share: its prompt, and a part of each step."""
        step = _seconds_of_step(serving, gpu, load, requests)
        return read + (load.reply - 1) * step / requests  # reading gives the first token

    return Throughput(answers=1 / answer(together), together=together, alone=answer(1))


def _seconds_to_read(serving: Serving, gpu: Gpu, load: Load) -> float:
    """Return seconds: two operations a weight; in attention, two a pair of tokens and element."""
    shape = serving.shape
    attention = 2 * shape.layers * shape.heads * shape.head_size * load.prompt
    operations = load.prompt * (2 * shape.linear + attention)
    return operations / (_peak(serving, gpu) * ARITHMETIC)


def _seconds_of_step(serving: Serving, gpu: Gpu, load: Load, requests: int) -> float:
    """Return seconds for a token each: all weights and caches are read, or arithmetic binds."""
    shape = serving.shape
    held = requests * (load.prompt + load.reply / 2)
    cache = held * cache_bytes(shape, serving.precision, serving.gpus)
    weights = weight_bytes(shape, serving.precision) / serving.gpus
    reading = (weights + cache) / (gpu.bandwidth * GB * BANDWIDTH)
    operations = 2 * requests * (shape.linear + shape.hidden * shape.vocabulary)
    return max(reading, operations / (_peak(serving, gpu) * ARITHMETIC))


def _peak(serving: Serving, gpu: Gpu) -> float:
    tflops = gpu.tflops_fp8 if serving.precision == "fp8" else gpu.tflops
    return serving.gpus * tflops * _TERA
