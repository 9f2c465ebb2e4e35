"""Stage 1: short pairs of premise and claim, from entailment sets and claims over tables.

An encoder that was never taught to read a claim against a text stays at chance on long answers; on
short pairs it learns at once.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from pathlib import Path

from moonlynx.judge.judges.luna.novelty import new_words
from moonlynx.judge.text import stems_of

from ..data.exclusions import load_exclusions
from ..data.pair_sets import PAIR_SETS, Label, Pair
from ..data.wording import changed_words
from .items import Item

_CONTRADICTED: Mapping[Label, bool] = {"contradicted": True, "not_mentioned": False}


def load_pairs(root: Path, caps: Mapping[str, int], seed: int) -> list[Item]:
    """Read the sets named in `caps`, at most so many pairs of each, as many supported as not.

    Raises:
        ValueError: no set has that name.
        DataNotFound: a set is not at `root`.
    """
    unknown = set(caps) - set(PAIR_SETS)
    if unknown:
        raise ValueError(f"no pair set is called {sorted(unknown)}; known: {', '.join(PAIR_SETS)}")
    exclusions = load_exclusions(root)
    rng = random.Random(seed)  # noqa: S311 - chance, not secrecy
    items: list[Item] = []
    for name, cap in caps.items():
        pairs = list(PAIR_SETS[name](root, exclusions, rng))
        rng.shuffle(pairs)
        sides = [
            _take(name, (pair for pair in pairs if (pair.label == "supported") is side), cap // 2)
            for side in (True, False)
        ]
        most = min(map(len, sides))
        items += [item for side in sides for item in side[:most]]
    rng.shuffle(items)
    return items


def _take(source: str, pairs: Iterable[Pair], most: int) -> list[Item]:
    """Take at most so many different items."""
    taken: dict[Item, None] = {}
    for pair in pairs:
        if len(taken) == most:
            break
        item = _item(source, pair)
        if item is not None:
            taken[item] = None
    return list(taken)


def _item(source: str, pair: Pair) -> Item | None:
    premise = pair.premise if isinstance(pair.premise, str) else pair.premise()
    premise, claim = " ".join(premise.split()), " ".join(pair.claim.split())
    if len(claim) < 4 or len(premise) < 4:
        return None
    spans: tuple[tuple[int, int], ...] | None = None
    supported = pair.label == "supported"
    if supported:
        spans = ()
    elif pair.right is not None:
        spans = changed_words(pair.right, claim)
    new = new_words(claim, set(stems_of(premise)))
    contradicted = _CONTRADICTED.get(pair.label)
    return Item(
        claim, (premise,), supported, source, spans=spans, new=new, contradicted=contradicted
    )
