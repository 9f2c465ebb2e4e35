"""Settings of a Luna-2 run, as its YAML file holds them."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StrictInt, model_validator
from pydantic_core import PydanticCustomError

from moonlynx.judge.contract.types import Record

from ..runs import find_recipe, read_run

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
    """One run: a head on a backbone.

    Attributes:
        backbone: Hub id or folder of the chat model that stays frozen.
        head: folder of a head on it that training continues, as with a few hundred new rows;
            null starts a new one.
        rows: for training at most, the first of their random order, and a fourth as many for
            validation; null takes all.
        load: "whole", or "nf4": frozen weights in 4 bits (QLoRA, Dettmers et al. 2023).
        max_length: tokens of a prompt. Longer rows are left out and counted, never cut.
        batch: rows of an optimiser step.
        rows_at_once: of them computed at a time; the rest is accumulated.
        epochs, learning_rate, weight_decay, warmup: as the names say. The rate rises for `warmup`
            of the steps, then falls in a line to 0.
        class_weights: "balanced" weighs each class by how rare it is; "none" does not.
        precision: of activations; "bf16" also keeps frozen weights in it.
        checkpointing: activations are computed again for the gradient instead of kept.
        attention: transformers' name of the implementation.
        device: "auto" takes a GPU where there is one.
        lora: the adapter.
    """

    backbone: str
    head: str | None = None
    rows: AtLeastOne | None = None
    load: Literal["whole", "nf4"] = "whole"
    max_length: AtLeastOne = 4096
    batch: AtLeastOne = 32
    rows_at_once: AtLeastOne = 8
    epochs: Positive = 2.0
    learning_rate: Positive = 2e-4
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    warmup: Share = 0.05
    class_weights: Literal["balanced", "none"] = "balanced"
    precision: Literal["bf16", "fp32"] = "bf16"
    checkpointing: bool = True
    attention: Literal["flash_attention_2", "sdpa", "eager"] = "sdpa"
    device: Literal["auto", "cpu"] = "auto"
    seed: int = 17
    lora: Lora = Lora()

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.batch % self.rows_at_once:
            raise PydanticCustomError(
                "bad_input",
                "batch: {batch} is no multiple of rows_at_once ({at_once})",
                {"batch": self.batch, "at_once": self.rows_at_once},
            )
        return self


def load_run(recipe: str, backbone: str | None) -> tuple[str, Run]:
    """Read a recipe by its name or path; return its name and settings, on `backbone` if given.

    Raises:
        SettingsError: there is no such recipe, or it cannot be read; names the field.
    """
    path = find_recipe(recipe, RECIPES)
    run = read_run(path, Run)
    return path.stem, run if backbone is None else run.model_copy(update={"backbone": backbone})
