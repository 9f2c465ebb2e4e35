"""How many rows of each source and label HaluBench and Lynx's training set hold."""

from collections.abc import Mapping
from itertools import count
from typing import NamedTuple

from moonlynx.judge.contract.types import MoonlynxError

from .sources import Split


class Share(NamedTuple):
    """Rows that a part is to hold of a source."""

    source: str  # its name in `SOURCES`
    rows: int  # in all
    fails: int | None  # how many of them are FAIL; None where the source's own draw decides
    more: int = 0  # further rows, of either label as they are drawn

    @property
    def wanted(self) -> int:
        """Return how many rows there are to be, further ones among them."""
        return self.rows + self.more

    @property
    def wanted_fails(self) -> int | None:
        """Return how many of them are to be FAIL; None where a draw decides."""
        return None if self.more else self.fails


Parts = Mapping[str, tuple[Share, ...]]

# Section 3.2: 500 rows and 500 perturbed ones of four sources; the other two as published.
_TEST = (
    Share("FinanceBench", 1_000, 500),
    Share("DROP", 1_000, 500),
    Share("covidQA", 1_000, 500),
    Share("pubmedQA", 1_000, 500),
    Share("halueval", 10_000, None),
    Share("RAGTruth", 900, 160),
)
# Section 3.3: 600 rows of each of four sources, half of them wrong, and a third as many again.
_TRAINED_ON = ("RAGTruth", "DROP", "covidQA", "pubmedQA")
COMPOSITION: Mapping[Split, Parts] = {
    "test": {"test": _TEST},
    "train": {
        "train": tuple(Share(name, 600, 300) for name in _TRAINED_ON),
        "validation": tuple(Share(name, 200, 100) for name in _TRAINED_ON),
    },
}


def with_ragtruth(parts: Parts, more: int) -> Parts:
    """Return the composition with so many more training rows of RAGTruth.

    The paper's RAGTruth+ (appendix B.3) has 2,000, of which it states no balance.
    """
    return {
        part: tuple(
            share._replace(more=more) if (part, share.source) == ("train", "RAGTruth") else share
            for share in shares
        )
        for part, shares in parts.items()
    }


def total(parts: Parts) -> int:
    """Count the rows of all parts."""
    return sum(share.rows for shares in parts.values() for share in shares)


def scale(parts: Parts, rows: int) -> Parts:
    """Return the composition of a smaller set of exactly so many rows.

    Proportions of parts, sources and labels are kept, by the largest remainder.

    Raises:
        MoonlynxError: `rows` is not between 1 and all there are.
    """
    whole = total(parts)
    if not 1 <= rows <= whole:
        raise MoonlynxError(f"--rows: must be between 1 and {whole}, got {rows}")
    cells = [
        cell
        for shares in parts.values()
        for share in shares
        for cell in ((share.fails or 0), share.rows - (share.fails or 0))
    ]
    scaled = iter(_largest_remainder(cells, rows))
    return {
        part: tuple(_scaled_share(share, next(scaled), next(scaled)) for share in shares)
        for part, shares in parts.items()
    }


def _scaled_share(share: Share, fails: int, others: int) -> Share:
    return Share(share.source, fails + others, None if share.fails is None else fails)


def _largest_remainder(cells: list[int], rows: int) -> list[int]:
    """Share out `rows` in the proportions of `cells`; of equal remainders the first one gains."""
    whole = sum(cells)
    shares = [rows * cell // whole for cell in cells]
    gaining = sorted(zip((-(rows * cell % whole) for cell in cells), count(), strict=False))
    for _, index in gaining[: rows - sum(shares)]:
        shares[index] += 1
    return shares
