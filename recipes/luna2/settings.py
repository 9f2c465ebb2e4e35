"""Settings of a Luna-2 run, as its YAML file holds them."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StrictInt, model_validator

from moonlynx.judge.contract.types import Record, wrong

RECIPES = Path(__file__).parent
Positive = Annotated[float, Field(gt=0)]
AtLeastOne = Annotated[StrictInt, Field(ge=1)]
Share = Annotated[float, Field(ge=0, lt=1)]


class Lora(Record):
    """Low-rank adapters (Hu et al. 2021) on attention's projections; Luna-2, section 3.3."""

    rank: AtLeastOne = 16
    alpha: AtLeastOne = 16
    dropout: Share = 0.0
    targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj")


class Run(Record):
    """One run: a head on a backbone."""

    backbone: str  # Hub id, folder or GGUF file of the chat model that stays frozen
    # folder of a head on it that training continues, as with a few hundred new rows; null starts a
    # new one
    head: str | None = None
    # for training at most, the first of their random order, and a fourth as many for validation;
    # null takes all
    rows: AtLeastOne | None = None
    # "nf4": frozen weights in 4 bits (QLoRA, Dettmers et al. 2023)
    load: Literal["whole", "nf4"] = "whole"
    max_length: AtLeastOne = 4096  # tokens of a prompt. Longer rows are left out and counted
    batch: AtLeastOne = 32  # rows of an optimiser step
    rows_at_once: AtLeastOne = 8  # of them computed at a time; the rest is accumulated
    epochs: Positive = 2.0
    learning_rate: Positive = 2e-4
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    warmup: Share = 0.05  # of the steps, in which the rate rises; then it falls in a line to 0
    # "balanced" weighs each class by how rare it is
    class_weights: Literal["balanced", "none"] = "balanced"
    precision: Literal["bf16", "fp32"] = "bf16"  # of activations; "bf16" of frozen weights too
    checkpointing: bool = True  # activations are computed again for the gradient instead of kept
    # transformers' name of the implementation
    attention: Literal["flash_attention_2", "sdpa", "eager"] = "sdpa"
    device: Literal["auto", "cpu"] = "auto"  # "auto" takes a GPU where there is one
    seed: int = 17
    lora: Lora = Lora()

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.batch % self.rows_at_once:
            raise wrong(f"batch: {self.batch} is no multiple of rows_at_once ({self.rows_at_once})")
        return self
