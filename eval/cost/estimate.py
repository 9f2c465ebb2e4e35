"""Dollars for a million verdicts and for a month of them, from measured speeds, tokens and prices.

`measured.yaml` beside this file holds what was measured, each with its page, and `papers.yaml` the
papers' own figures with what they assume; prices are those of `moonlynx.judge.decision.cost`.
"""

from functools import cache
from importlib.resources import files
from math import ceil, inf, nan
from typing import Annotated, Any, NamedTuple

import yaml
from pydantic import Field, TypeAdapter

from moonlynx.judge.contract.types import MoonlynxError, Record, Usage
from moonlynx.judge.decision.cost import Price, PriceTable

MONTH = 2_592_000  # seconds of 30 days, as in Luna's appendix B
VOLUME = 10 * MONTH  # verdicts a month: its ten queries a second
MILLION = 1_000_000

Positive = Annotated[float, Field(gt=0)]
Tokens = tuple[int, int]  # read and written


class CostError(MoonlynxError, ValueError):
    """A price that is missing, or numbers that cannot be used."""


class Measured(Record):
    """What a verdict takes: seconds of a machine, or tokens of a chat model."""

    judge: str
    reads: str
    by: str  # the machine or the model, as the price table names it
    page: str = ""  # of the results it is from
    seconds: Positive | None = None
    tokens: Tokens | None = None


class Claim(Record):
    """A figure of a paper in dollars: `count` times `each`, or a machine's seconds, or tokens."""

    paper: str
    where: str
    what: str
    printed: float
    how: str
    count: float = 1
    each: float | None = None
    hour: float = 0  # the machine's price
    seconds: float = 0
    tokens: Tokens = (0, 0)
    price: tuple[float, float] | None = None  # of a million tokens; else that of the model
    model: str = ""
    ours: tuple[str, str] | None = None  # the judge here that does the same, and what it reads


class Cost(NamedTuple):
    """The cost of `measured`: of a million verdicts and of a month's whole machines, or tokens."""

    measured: Measured
    million: float
    month: float
    machines: int | None


@cache
def measured() -> tuple[Measured, ...]:
    """Return what was measured."""
    return TypeAdapter(tuple[Measured, ...]).validate_python(_read("measured.yaml"))


def claims() -> tuple[Claim, ...]:
    """Return every cost that the papers state."""
    return TypeAdapter(tuple[Claim, ...]).validate_python(_read("papers.yaml"))


def _read(name: str) -> Any:
    return yaml.safe_load(files(__package__).joinpath(name).read_text(encoding="utf-8"))


def cost_of(one: Measured, prices: PriceTable, volume: int) -> Cost:
    """Return what so many verdicts a month cost.

    Raises:
        CostError: the price table lacks the machine or the model; names it.
    """
    if one.seconds is None:
        each = _price(prices, one.by).of(_usage(one.tokens or (0, 0)))
        return Cost(one, MILLION * each, volume * each, None)
    hour = _hour(prices, one.by)
    machines = max(1, ceil(volume * one.seconds / MONTH))
    return Cost(one, MILLION * one.seconds / 3600 * hour, machines * hour * MONTH / 3600, machines)


def compute(claim: Claim, prices: PriceTable) -> tuple[float, float | None]:
    """Return a paper's figure from its assumptions, and the same work by ours, if that is known."""
    each = claim.each
    if each is None and claim.seconds:
        each = claim.seconds / 3600 * claim.hour
    elif each is None:
        price = Price(*claim.price) if claim.price else _price(prices, claim.model)
        each = price.of(_usage(claim.tokens))
    found = [one for one in measured() if (one.judge, one.reads) == claim.ours]
    ours = cost_of(found[0], prices, 1).million / MILLION * claim.count if found else None
    return claim.count * each, ours


def with_yours(prices: PriceTable, machine: str) -> tuple[PriceTable, Measured]:
    """Add a machine of the user's own: "PER_SECOND,HOUR", verdicts a second and price of an hour.

    Raises:
        CostError: it is not that.
    """
    try:
        speed, hour = (float(part) for part in machine.split(","))
    except ValueError:
        speed = hour = nan
    if not (0 < speed < inf and 0 <= hour < inf):
        raise CostError(f"--machine {machine}: write PER_SECOND,HOUR, as in 25,0.98")
    own = prices.instances | {"your machine": hour}
    speed_of = Measured(judge="yours", reads="", by="your machine", seconds=1 / speed)
    return prices.model_copy(update={"instances": own}), speed_of


def _usage(tokens: Tokens) -> Usage:
    return Usage(input_tokens=tokens[0], output_tokens=tokens[1])


def _hour(prices: PriceTable, machine: str) -> float:
    hours = prices.gpu_hours | prices.instances
    if machine not in hours:
        raise CostError(f"the price table has no machine {machine!r}; it has {', '.join(hours)}")
    return hours[machine]


def _price(prices: PriceTable, model: str) -> Price:
    if (price := prices.price_of(model)) is None:
        known = ", ".join(prices.models)
        raise CostError(f"the price table has no model {model!r}; it has {known}")
    return price
