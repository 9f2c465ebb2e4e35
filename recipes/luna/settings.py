"""Settings of a training run, as its YAML file holds them."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AliasChoices, Field, model_validator

from moonlynx.judge.contract.types import Record, wrong
from moonlynx.judge.judges.luna.aggregate import AnswerScore, Support
from moonlynx.judge.judges.luna.config import LunaConfig
from moonlynx.judge.judges.luna.inputs import Limits

Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[int, Field(ge=0)]
AtLeastOne = Annotated[int, Field(ge=1)]
Change = Literal["perturbed", "removed", "shuffled", "inserted"]

RECIPES = Path(__file__).parent  # the YAML files
VERSION = "1"  # of the models that this recipe trains


class Scheme(StrEnum):
    """How weights are written in ONNX: in int8 or compact (see `quantise`), or as they are."""

    INT8 = "int8"
    COMPACT = "compact"
    FP32 = "fp32"


class Judged(Record):
    """Rows that another judge has judged, to learn from its verdicts."""

    # the file that was judged, and what `moonlynx judge --output` wrote
    rows: str
    verdicts: str
    most: Amount = 0  # claims to take at most; 0 takes all


class Stage(Record):
    """One stage: what is read, for how long, how fast it is learned."""

    # pair sets (`pairs`) with the most pairs to take of each
    pairs: dict[str, Amount] = Field(default_factory=dict)
    # sets of labelled answers (`answers`) with the most claims to take of each; 0 takes all
    answers: dict[str, Amount] = Field(default_factory=dict)
    judged: tuple[Judged, ...] = ()  # files of another judge's verdicts
    # files of labelled rows (`labelled`), as `label_by_model` and `moonlynx rows` write them, with
    # the most claims to take of each; 0 takes all
    labelled: dict[str, Amount] = Field(default_factory=dict)
    # sets of right answers, which wrong ones are made of; `right_claims` of their claims are
    # trained on as they are
    right: tuple[str, ...] = ()
    right_claims: Amount = 0
    # pairs of answers, one of them wrong, over synthetic passages (`data.passages`)
    plain: Amount = 0
    # answers over synthetic records (`data.synthetic`); `made` until 0.9
    synthetic: Amount = Field(default=0, validation_alias=AliasChoices("synthetic", "made"))
    # how many wrong claims to make from right ones, by kind (`changes`); the right ones are trained
    # on beside them
    changed: dict[Change, Amount] = Field(default_factory=dict)
    # folder of a trained judge, larger than this one; what it believes of each claim is learned
    # beside the label. "" without one
    teacher: str = ""
    # sources whose claims are read so many times in each epoch
    repeat: dict[str, AtLeastOne] = Field(default_factory=dict)
    frozen: Amount | None = None  # in place of the run's `frozen`; null takes that
    seed: Amount = 0  # added to the run's, so that a stage draws other rows than the stages before
    # tokens to read, padding not counted, over as many epochs as that takes;
    budget_tokens: AtLeastOne | None = None
    epochs: Positive | None = None  # or the epochs themselves. One of the two
    # tokens of a batch, padding counted; `accumulate` batches make a step
    batch_tokens: AtLeastOne = 2048
    accumulate: AtLeastOne = 1
    # peak learning rates
    lr_trunk: Positive = 1e-4
    lr_heads: Positive = 1e-3
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    # share of the budget over which the rates rise; then they fall linearly to 0
    warmup: Share = 0.06
    # weight of the token loss beside the claim loss
    token_weight: Annotated[float, Field(ge=0)] = 0.5

    @model_validator(mode="after")
    def _one_length(self) -> Self:
        if (self.budget_tokens is None) == (self.epochs is None):
            raise wrong("give budget_tokens or epochs, and not both")
        return self

    def budget(self, tokens: int) -> int:
        """Return the tokens to read where one epoch has so many."""
        return self.budget_tokens or round((self.epochs or 0) * tokens)


class Run(Record):
    """One run of the recipe."""

    # which sets may be read (`mixes`)
    mix: Literal["shipped", "research", "no-ragtruth"] = "shipped"
    base: str  # Hub id of the base encoder that the run starts from
    base_sha256: str | None = None  # hash that its weights must have; null takes any
    # "nli" starts the heads from the base's NLI classifier, entailment against contradiction
    # (section 3.3 of the paper); "new" starts them at random
    head_from: Literal["new", "nli"] = "new"
    # as in `LunaConfig`
    window: int = 256
    lead: int = 48
    claim: int = 96
    windows: Amount = 1
    # "bf16", "fp16" or "fp32"; mixed except for the last
    precision: Literal["bf16", "fp16", "fp32"] = "bf16"
    # the trunk's word embeddings and so many of its lowest layers stay as they are
    frozen: Amount = 0
    dropout: Share = 0.1  # in training. Drawing its numbers takes half of the time on a CPU
    seed: int = 0
    # "fitted" takes the aggregation that ranks the validation rows best, "paper" that of section
    # 3.2: each token's greatest support over the windows, the least of all tokens
    score: Literal["fitted", "paper"] = "fitted"
    held_back: Share = 0.02  # share of the items that is not trained on and measures progress
    save_every: AtLeastOne = 200  # optimiser steps between checkpoints
    scheme: Scheme = Scheme.INT8  # of the judge in ONNX
    # in order, by name; each has a folder of its name
    stages: Annotated[dict[str, Stage], Field(min_length=1)]

    @model_validator(mode="after")
    def _readable(self) -> Self:
        self.config()  # what no judge could be read with is refused before it is trained
        return self

    @property
    def limits(self) -> Limits:
        """Return the limits of one reading."""
        return Limits(self.window, self.lead, self.claim)

    def config(self, aggregation: Support = "claim", answer: AnswerScore = "max") -> LunaConfig:
        """Return the configuration of the judge that is trained."""
        return LunaConfig(
            version=VERSION,
            window=self.window,
            lead=self.lead,
            claim=self.claim,
            windows=self.windows,
            aggregation=aggregation,
            answer=answer,
        )
