"""The costs of judges, and of the papers' figures, as rows of text."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from moonlynx.judge.decision.cost import PriceTable

from ..markdown import UNDEFINED
from .estimate import Measured, claims, compute, cost_of

_COSTS = ("judge", "a verdict reads", "on", "a second", "a million", "machines", "a month", "from")
_CLAIMS = ("paper", "where", "what", "printed", "computed", "from", "the same by ours")


class Cells(NamedTuple):
    """A table of text."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def cost_cells(every: Iterable[Measured], prices: PriceTable, volume: int) -> Cells:
    """Return the cost of each judge, with the page that its speed is from."""
    rows = []
    for one in every:
        cost = cost_of(one, prices, volume)
        speed = f"{1 / one.seconds:,.3g}" if one.seconds else UNDEFINED
        machines = UNDEFINED if cost.machines is None else f"{cost.machines:,}"
        paid = (speed, dollars(cost.million), machines, dollars(cost.month))
        rows.append((one.judge, one.reads, one.by, *paid, one.page))
    return Cells("What verdicts cost", _COSTS, rows)


def claim_cells(prices: PriceTable) -> Cells:
    """Return each figure of the papers as printed and as computed, and the same work by ours."""
    rows = []
    for one in claims():
        computed, ours = compute(one, prices)
        same = UNDEFINED if ours is None or not one.ours else f"{dollars(ours)} ({one.ours[0]})"
        said = (dollars(one.printed), dollars(computed), one.how, same)
        rows.append((one.paper, one.where, one.what, *said))
    return Cells("The papers' figures, computed again", _CLAIMS, rows)


def dollars(amount: float) -> str:
    """Write an amount with three digits at least, never as a power of ten."""
    return f"{amount:,.0f}" if abs(amount) >= 100 else f"{Decimal(f'{amount:.3g}'):f}"


def notes(prices: PriceTable, volume: int) -> str:
    """Return what the tables rest on."""
    return (
        f"In {prices.currency}, for {volume:,} verdicts a month of 30 days, by the prices of "
        f"{prices.updated}. Instances: {prices.instance_source}. GPUs: {prices.gpu_source}. "
        f"Models: {prices.source}. A million: on a machine that is never idle. A month: whole "
        "machines, all month. Speeds are of one verdict after the other."
    )
