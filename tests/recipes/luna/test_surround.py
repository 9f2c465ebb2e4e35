import random

import pytest

from moonlynx.recipes.luna.items import Item
from moonlynx.recipes.luna.surround import surround

FACTS = [
    "The museum is closed on Mondays.",
    "A ticket costs 12 euros.",
    "The tower was built in 1894.",
    "Dogs stay outside.",
    "The café opens at noon.",
]


def pair(premise, source="a"):
    return Item("Tickets cost 14 euros.", (premise,), False, source, contradicted=True)


def test_a_premise_is_set_among_others_of_its_set():
    items = [pair(fact) for fact in FACTS] + [pair("Wheat was sold by the sack.", "b")]
    found = surround(items, 1.0, random.Random(3))
    for before, after in zip(items, found, strict=True):
        (passage,) = after.premises
        assert before.premises[0] in passage
        assert (after.claim, after.supported, after.contradicted) == (before.claim, False, True)
    assert sum(fact in found[0].premises[0] for fact in FACTS) > 1
    places = [passage.premises[0].index(fact) for passage, fact in zip(found, FACTS, strict=False)]
    assert len(set(places)) > 1, "it stands at no place of its own"
    assert found[-1].premises == items[-1].premises, "its set has no other"


def test_words_that_another_sentence_holds_are_not_new():
    claim = "Dogs pay 12 euros."
    items = [Item(claim, (fact,), False, "a") for fact in FACTS]
    for item in surround(items, 1.0, random.Random(1)):
        new = {claim[start:end] for start, end, _ in item.new}
        assert ("Dogs" in new) == ("Dogs" not in item.premises[0])


@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0, 0), (0.5, 70, 130)])
def test_a_share_of_them_is(share, least, most):
    items = [pair(FACTS[number % 5]) for number in range(200)]
    found = surround(items, share, random.Random(0))
    changed = sum(a is not b for a, b in zip(items, found, strict=True))
    assert least <= changed <= most


def test_a_passage_has_at_most_120_words():
    items = [pair(f"{number} " + "word " * 50) for number in range(20)]
    sizes = {len(item.premises[0].split()) for item in surround(items, 1.0, random.Random(0))}
    assert sizes <= {51, 102}
    long = [pair("word " * 300), *items]
    assert surround(long, 1.0, random.Random(0))[0].premises == long[0].premises
