"""Settings of a run that fine-tunes a chat model, as its YAML file holds them."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import AliasChoices, Field, StrictInt, model_validator
from pydantic_core import PydanticCustomError

from moonlynx.judge.contract.types import Record

Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
AtLeastOne = Annotated[StrictInt, Field(ge=1)]
Method = Literal["full", "lora", "qlora"]
Optimizer = Literal["lion_32bit", "paged_lion_8bit", "adamw_torch_fused", "paged_adamw_8bit"]


class Quantised(StrEnum):
    """Kinds of GGUF files, by llama.cpp's names."""

    Q8_0 = "q8_0"
    Q5_K_M = "q5_k_m"
    Q4_K_M = "q4_k_m"


class Lora(Record):
    """Low-rank adapters (Hu et al. 2021) on the linear layers that end in `targets`."""

    rank: AtLeastOne = 64
    alpha: AtLeastOne = 128
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.05
    targets: tuple[str, ...] | Literal["all-linear"] = "all-linear"


class Preference(Record):
    """A second stage by direct preference optimisation (Rafailov et al. 2023).

    Attributes:
        beta: how strongly the model is kept near the one that it starts from.
    """

    beta: Positive = 0.1


class Hardware(Record):
    """What the run is written for; the estimate is compared with it.

    Attributes:
        gpus: how many, 0 for a CPU.
        memory_gb: of each, in GB of 10^9 bytes.
        tflops: dense peak of each in the run's precision, 10^12 operations a second.
        utilisation: share of the peak that is expected (model FLOPs utilisation).
    """

    gpus: Annotated[StrictInt, Field(ge=0)] = 1
    memory_gb: Positive = 80.0
    tflops: Positive = 989.0
    utilisation: Annotated[float, Field(gt=0, le=1)] = 0.35


class Run(Record):
    """One run of fine-tuning.

    Attributes:
        base: Hub id or folder of the chat model to start from.
        revision: commit of it on the Hub; null takes the newest.
        method: "full" trains all weights, "lora" adapters, "qlora" adapters on weights in nf4.
        max_length: tokens of prompt and reply. Longer rows are left out and counted: cut at the
            end they would lose what is learned, cut in the middle what it follows from.
        batch: rows of an optimiser step, over all GPUs.
        rows_at_once: of them on a GPU at a time; the rest is accumulated.
        epochs, learning_rate, optimizer, betas, weight_decay, clip: as the names say; `clip` is
            the largest norm of a gradient.
        warmup_steps: of linear rise; then the rate falls in a cosine to `min_lr_rate` of its peak.
        precision: of activations; "bf16" also keeps frozen weights in it. "fp16", as in RAGHalu's
            paper, scales the loss.
        sharding: of a full run on several GPUs: "all" (FSDP), or the "optimizer"'s states alone
            (ZeRO-1, by DeepSpeed), each by a configuration of accelerate.
        checkpoint_steps: steps from one checkpoint, which a stopped run resumes from, to the next;
            null: an epoch's.
        checkpointing: activations are computed again for the gradient instead of kept.
        attention: transformers' name of the implementation.
        lora: of "lora" and "qlora".
        preference: of a second stage, which starts from a judge and prefers right reasoning over
            that of the counterpart; null for supervised fine-tuning.
        hardware: what the run is written for.
    """

    base: str
    revision: str | None = None
    method: Method = "full"
    max_length: AtLeastOne = 8000
    batch: AtLeastOne = 32
    rows_at_once: AtLeastOne = 1
    epochs: Positive = 3.0
    learning_rate: Positive = 5e-7
    optimizer: Optimizer = "lion_32bit"
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    clip: Positive = 1.0
    warmup_steps: Annotated[StrictInt, Field(ge=0)] = 100
    # Files of runs before 0.9 name it floor.
    min_lr_rate: Share = Field(default=0.1, validation_alias=AliasChoices("min_lr_rate", "floor"))
    precision: Literal["bf16", "fp16", "fp32"] = "bf16"
    sharding: Literal["all", "optimizer"] = "all"
    checkpoint_steps: AtLeastOne | None = None
    checkpointing: bool = True
    attention: Literal["flash_attention_2", "sdpa", "eager"] = "flash_attention_2"
    seed: int = 17
    lora: Lora | None = None
    preference: Preference | None = None
    hardware: Hardware = Hardware()

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if (self.lora is None) != (self.method == "full"):
            raise PydanticCustomError("bad_input", "lora goes with the methods lora and qlora")
        if self.method != "full" and (self.precision == "fp16" or self.sharding == "optimizer"):
            message = "precision: fp16 and sharding: optimizer go with the method full"
            raise PydanticCustomError("bad_input", message)
        if self.batch % (self.rows_at_once * self.processes):
            raise PydanticCustomError(
                "bad_input",
                "batch: {batch} rows are no multiple of rows_at_once ({rows}) on {gpus} GPUs",
                {"batch": self.batch, "rows": self.rows_at_once, "gpus": self.processes},
            )
        return self

    @property
    def processes(self) -> int:
        """Return how many processes train side by side."""
        return max(1, self.hardware.gpus)

    @property
    def accumulate(self) -> int:
        """Return how many portions a process reads for one step."""
        return self.batch // (self.rows_at_once * self.processes)

    def steps(self, rows: int) -> int:
        """Return the optimiser steps over so many rows."""
        return max(1, round(self.epochs * -(-rows // self.batch)))
