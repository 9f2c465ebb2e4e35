"""Settings of a run that fine-tunes a chat model, as its YAML file holds them."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import AliasChoices, Field, StrictInt, model_validator

from moonlynx.judge.contract.types import Record, wrong

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
    # how many of the topmost layers get them, so that no gradient is computed below; null for all
    layers: AtLeastOne | None = None

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.layers is not None and self.targets == "all-linear":
            raise wrong("layers: PEFT chooses layers only for targets that are named one by one")
        return self


class Preference(Record):
    """A second stage by direct preference optimisation (Rafailov et al. 2023)."""

    beta: Positive = 0.1  # how strongly the model is kept near the one that it starts from


class Hardware(Record):
    """What the run is written for; the estimate is compared with it."""

    gpus: Annotated[StrictInt, Field(ge=0)] = 1  # how many, 0 for a CPU
    memory_gb: Positive = 80.0  # of each, in GB of 10^9 bytes
    tflops: Positive = 989.0  # dense peak of each in the run's precision, 10^12 operations a second
    # share of the peak that is expected (model FLOPs utilisation)
    utilisation: Annotated[float, Field(gt=0, le=1)] = 0.35


class Run(Record):
    """One run of fine-tuning."""

    # chat model to start from, or adapters to go on with: Hub id, folder, or a model's GGUF file
    base: str
    revision: str | None = None  # commit of it on the Hub; null takes the newest
    # "full" trains all weights, "lora" adapters, "qlora" adapters on weights in nf4
    method: Method = "full"
    # tokens of prompt and reply. Longer rows are left out and counted: cut at the end they would
    # lose what is learned, cut in the middle what it follows from
    max_length: AtLeastOne = 8000
    batch: AtLeastOne = 32  # rows of an optimiser step, over all GPUs
    rows_at_once: AtLeastOne = 1  # of them on a GPU at a time; the rest is accumulated
    # as the names say; `clip` is the largest norm of a gradient
    epochs: Positive = 3.0
    learning_rate: Positive = 5e-7
    optimizer: Optimizer = "lion_32bit"
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    clip: Positive = 1.0
    # of linear rise; then the rate falls in a cosine to `min_lr_rate` of its peak
    warmup_steps: Annotated[StrictInt, Field(ge=0)] = 100
    # Files of runs before 0.9 name it floor.
    min_lr_rate: Share = Field(default=0.1, validation_alias=AliasChoices("min_lr_rate", "floor"))
    # of activations; "bf16" also keeps frozen weights in it. "fp16", as in RAGHalu's paper, scales
    # the loss
    precision: Literal["bf16", "fp16", "fp32"] = "bf16"
    # of a full run on several GPUs: "all" (FSDP), or the "optimizer"'s states alone (ZeRO-1, by
    # DeepSpeed), each by a configuration of accelerate
    sharding: Literal["all", "optimizer"] = "all"
    # steps from one checkpoint, which a stopped run resumes from, to the next; null: an epoch's
    checkpoint_steps: AtLeastOne | None = None
    checkpointing: bool = True  # activations are computed again for the gradient instead of kept
    # transformers' name of the implementation
    attention: Literal["flash_attention_2", "sdpa", "eager"] = "flash_attention_2"
    seed: int = 17
    lora: Lora | None = None  # of "lora" and "qlora"
    # of a second stage, which starts from a judge and prefers right reasoning over that of the
    # counterpart; null for supervised fine-tuning
    preference: Preference | None = None
    hardware: Hardware = Hardware()  # what the run is written for

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if (self.lora is None) != (self.method == "full"):
            raise wrong("lora goes with the methods lora and qlora")
        if self.method != "full" and (self.precision == "fp16" or self.sharding == "optimizer"):
            raise wrong("precision: fp16 and sharding: optimizer go with the method full")
        if self.hardware.gpus == 0 and self.attention != "sdpa":
            raise wrong(f"attention: on a CPU (hardware.gpus: 0) name sdpa, not {self.attention}")
        if self.batch % (self.rows_at_once * self.processes):
            raise wrong(
                f"batch: {self.batch} rows are no multiple of rows_at_once ({self.rows_at_once}) "
                f"on {self.processes} GPUs"
            )
        return self

    @property
    def processes(self) -> int:
        """Return how many processes train side by side."""
        return max(1, self.hardware.gpus)

    @property
    def by_document(self) -> bool:
        """Return whether rows of one document are read together, and what they share once."""
        return self.hardware.gpus == 0 and self.preference is None

    @property
    def accumulate(self) -> int:
        """Return how many portions a process reads for one step."""
        return self.batch // (self.rows_at_once * self.processes)

    def steps(self, rows: int) -> int:
        """Return the optimiser steps over so many rows."""
        return max(1, round(self.epochs * -(-rows // self.batch)))
