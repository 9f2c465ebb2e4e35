"""A training run as its YAML file says it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.luna.reading import Limits
from moonlynx.judge.types import MoonlynxError, Record

Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class SettingsError(MoonlynxError, ValueError):
    """A YAML file that describes no run."""


class Stage(Record):
    """One stage: what is read, for how long, how fast it is learned.

    Attributes:
        pairs: pair sets (recipes.luna.pairs) with the most pairs to take of each.
        answers: the mix of labelled answers (recipes.luna.mixes), or null for none.
        budget_tokens: tokens to read, padding not counted, over as many epochs as that takes.
        batch_tokens: tokens of a batch, padding counted; `accumulate` batches make a step.
        lr_trunk, lr_heads: peak learning rates.
        warmup: share of the budget over which the rates rise; then they fall linearly to 0.
        token_weight: weight of the token loss beside the claim loss.
    """

    pairs: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    answers: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    budget_tokens: Annotated[int, Field(gt=0)]
    batch_tokens: Annotated[int, Field(gt=0)] = 2048
    accumulate: Annotated[int, Field(gt=0)] = 1
    lr_trunk: Positive = 1e-4
    lr_heads: Positive = 1e-3
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    warmup: Share = 0.06
    token_weight: Annotated[float, Field(ge=0)] = 0.5


class Run(Record):
    """One run of the recipe.

    Attributes:
        base: folder or Hub id of the trunk that the run starts from.
        base_sha256: hash that its weights must have; null takes any.
        head_from: "nli" starts the heads from the base's NLI classifier, entailment against
            contradiction (section 4.3 of the paper); "new" starts them at random.
        precision: "bf16", "fp16" or "fp32"; mixed but for the last.
        held_back: share of the items that is not trained on and measures progress.
    """

    base: str
    base_sha256: str | None = None
    head_from: Literal["new", "nli"] = "new"
    window: int = 256
    lead: int = 48
    claim: int = 96
    windows: Annotated[int, Field(ge=0)] = 1
    precision: Literal["bf16", "fp16", "fp32"] = "bf16"
    seed: int = 0
    held_back: Share = 0.02
    save_every: Annotated[int, Field(gt=0)] = 200
    stages: dict[str, Stage]

    @property
    def limits(self) -> Limits:
        """Give the limits of one reading."""
        return Limits(self.window, self.lead, self.claim)


def read_run(path: Path) -> Run:
    """Read a run's YAML file.

    Raises:
        SettingsError: it cannot be read or describes no run; names the field.
        MissingExtra: pyyaml is not installed.
    """
    try:
        import yaml
    except ImportError:
        raise MissingExtra("reading a training recipe", "train") from None
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise SettingsError(f"{path} is not YAML: {error}") from None
    try:
        return Run.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"{path}: {field}: {first['msg']}") from None
