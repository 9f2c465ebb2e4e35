"""Sets the premises of pairs among others of their set, as one sentence of a passage."""

import random
from collections.abc import Sequence
from dataclasses import replace

from moonlynx.judge.judges.luna.novelty import new_words
from moonlynx.judge.text import stems_of

from .items import Item

_WORDS = 120  # of premise and others: about 160 tokens, beside a claim in a window of 256
_OTHERS = 6  # premises that are set around one, at most


def surround(items: Sequence[Item], share: float, rng: random.Random) -> list[Item]:
    """Set the premises of a share of the pairs among others of their source, in random order.

    What supports a claim, or speaks against it, is then one sentence among several. That another of
    them supports it by chance is not ruled out, only rare.
    """
    premises: dict[str, list[str]] = {}
    for item in items:
        premises.setdefault(item.source, []).append(item.premises[0])
    return [
        _among(item, premises[item.source], rng) if rng.random() < share else item for item in items
    ]


def _among(item: Item, others: Sequence[str], rng: random.Random) -> Item:
    (own,) = item.premises
    passage, words = [own], len(own.split())
    for other in rng.choices(others, k=rng.randint(1, _OTHERS)):
        words += len(other.split())
        if words > _WORDS:
            break
        if other not in passage:
            passage.append(other)
    rng.shuffle(passage)
    text = " ".join(passage)
    return replace(item, premises=(text,), new=new_words(item.claim, set(stems_of(text))))
