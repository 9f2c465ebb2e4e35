"""Three sides without a group in two of them, and without texts of one side in another."""

import hashlib
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ...data.answers import draw
from .rows import SIDES, LabelledInput, Placed, Side

SHARES = (0.7, 0.1)  # of the groups, for training and validation; the rest is for testing
_SHINGLE = 8  # words
_SHARED = 0.5  # of a row's shingles in another side: a near-duplicate
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Splits:
    """Rows on three sides, each in random order."""

    train: tuple[LabelledInput, ...]
    validation: tuple[LabelledInput, ...]
    test: tuple[LabelledInput, ...]
    removed: int  # rows that were near-duplicates of one on another side
    sets: tuple[str, ...] = ()  # the open sets that rows other than for testing may be of


def draw_side(group: str, seed: int) -> Side:
    """Return a group's side, drawn from its name alone."""
    place = draw(group, seed)
    train, validation = SHARES
    return "train" if place < train else "validation" if place < train + validation else "test"


def split(placed: Iterable[Placed], seed: int) -> Splits:
    """Split rows: a group goes where its set puts it, else where its name and the seed draw it.

    A group that its set has on two sides stays on the one that is tested last. Then training loses
    the rows whose text is half or more in validation or testing, and validation those in testing.
    """
    rows = list(placed)
    sides: dict[str, Side] = {}
    for read, own in rows:
        side = own or draw_side(read.group, seed)
        before = sides.get(read.group, "train")
        sides[read.group] = max(side, before, key=SIDES.index)
    by_side: dict[Side, list[LabelledInput]] = {side: [] for side in SIDES}
    for read, _ in rows:
        by_side[sides[read.group]].append(read)
    held: set[int] = set()
    removed = 0
    for side in reversed(SIDES):
        kept = [read for read in by_side[side] if not _is_in(held, read)]
        removed += len(by_side[side]) - len(kept)
        held.update(*(shingles(read) for read in kept))
        random.Random(seed).shuffle(kept)  # noqa: S311 - chance, not secrecy
        by_side[side] = kept
    train, validation, test = (tuple(by_side[side]) for side in SIDES)
    return Splits(train, validation, test, removed)


def cap(splits: Splits, most: int | None) -> Splits:
    """Keep so many rows for training and as many for testing, and a quarter for validation.

    Without a number, all.
    """
    if most is None:
        return splits
    return replace(
        splits,
        train=splits.train[:most],
        validation=splits.validation[: most // 4],
        test=splits.test[:most],
    )


def shingles(read: LabelledInput) -> frozenset[int]:
    """Return hashes of the runs of eight words in a row's input, output and context, read as one.

    A text with fewer is one run. Tools are left out: many requests share them.
    """
    given = read.input
    words = _WORD.findall(" ".join((given.input, given.output, *(given.context or ()))).casefold())
    runs = (words[start : start + _SHINGLE] for start in range(max(1, len(words) - _SHINGLE + 1)))
    return frozenset(_hash(" ".join(run)) for run in runs if run)


def _is_in(held: set[int], read: LabelledInput) -> bool:
    own = shingles(read)
    return bool(own) and len(own & held) >= _SHARED * len(own)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
