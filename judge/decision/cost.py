"""What asking a chat model costs: tokens estimated before a run, counted after it, and priced.

`prices.json` beside this file is the price table: list prices as of its date. A custom table
has the same form.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from math import isfinite
from pathlib import Path
from typing import Annotated, Self

from pydantic import ConfigDict, Field

from ..contract.types import Finite, MoonlynxError, Record, Usage, Verdict
from ..files.stored import load_record

BYTES_PER_TOKEN = 4  # of English prose; tables and other scripts take more tokens than this says


class PriceError(MoonlynxError, ValueError):
    """A price that cannot be read."""


NotNegative = Annotated[Finite, Field(ge=0)]


@dataclass(frozen=True)
class Price:
    """What a million tokens of one model cost, in whatever currency."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    input: NotNegative
    output: NotNegative

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read "INPUT,OUTPUT".

        Raises:
            PriceError: it is not two numbers of at least 0.
        """
        try:
            prices = [float(part) for part in text.split(",")]
        except ValueError:
            prices = []
        if len(prices) != 2 or not all(price >= 0 and isfinite(price) for price in prices):
            message = "write INPUT,OUTPUT for a million tokens, as in 0.5,1.5"
            raise PriceError(f"{text!r} is no price; {message}")
        return cls(*prices)

    def of(self, usage: Usage) -> float:
        """Return the cost of the usage."""
        return (usage.input_tokens * self.input + usage.output_tokens * self.output) / 1e6


class PriceTable(Record):
    """Prices by model name."""

    updated: date  # when the prices were last read
    currency: str  # of all of them, as in "USD"
    source: str  # where they were read
    models: dict[str, Price]  # prices by the name that the endpoint knows the model by
    # price of an hour of one GPU, by its chip's name
    gpu_hours: dict[str, NotNegative] = Field(default_factory=dict)
    gpu_source: str = "not given"  # where those were read
    # price of an hour of a cloud's machine, by the name that the cloud gives it
    instances: dict[str, NotNegative] = Field(default_factory=dict)
    instance_source: str = "not given"  # where those were read

    def of(self, verdict: Verdict) -> float | None:
        """Return what a verdict cost, stage by stage; None where a called model has no price.

        What calls no model costs nothing here: tokens that an encoder reads have no price.
        """
        asked = [(stage.judge, stage.usage) for stage in verdict.stages]
        costs = [self._cost(*each) for each in asked or [(verdict.judge.name, verdict.usage)]]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    def _cost(self, judge: str, usage: Usage) -> float | None:
        if not usage.calls:
            return 0.0
        price = self.price_of(model_of(judge))
        return None if price is None else price.of(usage)

    def price_of(self, model: str) -> Price | None:
        """Return a model's price, None where the table lacks it."""
        return self.models.get(model)


def model_of(judge: str) -> str:
    """Return the model in the name of a judge, `KIND:MODEL`."""
    return judge.partition(":")[2]


def load_prices(path: Path | None = None) -> PriceTable:
    """Read a price table, by default the one that ships with the package.

    Raises:
        PriceError: the file cannot be read or is no price table; names the field.
    """
    return load_record(path or Path(__file__).with_name("prices.json"), PriceTable, PriceError)


def estimate_tokens(text: str) -> float:
    """Estimate how many tokens a text takes, from its length."""
    return len(text.encode("utf-8")) / BYTES_PER_TOKEN


def total_usage(usages: Iterable[Usage]) -> Usage:
    """Add up calls, tokens and windows."""
    return sum(usages, Usage())


def show_usage(usage: Usage, what: str) -> str:
    """Return calls, under the name `what`, and tokens: "3 answers (90 tokens in, 30 out)"."""
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    return f"{usage.calls:,} {what} ({tokens})"
