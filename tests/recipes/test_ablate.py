"""Variants leave out what they say, and are trained and measured once."""

from pathlib import Path

import pytest

from moonlynx.judge.backends.encoder import TokenType
from moonlynx.recipes.luna.ablate import RESULT, VARIANTS, Variant, ablate, result_table, taken_away
from moonlynx.recipes.luna.items import Item

NEW = ((0, 2, TokenType.NEW_WORD),)
ITEMS = [
    Item("It is red.", ("It is red.",), True, source, new=NEW)
    for source in ("mnli", "mnli-changed", "made:hotel", "changed:date", "frank")
]


def sources(variant):
    return [item.source for item in taken_away(ITEMS, variant)]


def test_sources_are_left_out_by_their_beginnings():
    assert sources(Variant()) == [item.source for item in ITEMS]
    assert sources(Variant(without=("made:",))) == ["mnli", "mnli-changed", "changed:date", "frank"]
    assert sources(Variant(without=("mnli", "changed"))) == ["made:hotel", "frank"]
    assert {item.new for item in taken_away(ITEMS, Variant(new_words=False))} == {()}
    assert {item.new for item in taken_away(ITEMS, Variant())} == {NEW}


def test_variants_differ_from_the_whole_and_from_each_other():
    assert VARIANTS["everything"] == Variant()
    assert len(set(VARIANTS.values())) == len(VARIANTS) > 10


class Counted:
    """Measures by the length of `without` and the seed, and counts."""

    def __init__(self):
        self.calls = 0

    def measure(self, variant, seed, out):
        self.calls += 1
        Path(out).mkdir(parents=True)
        return {"one": 0.5 + len(variant.without) / 10 + seed / 50, "two": 0.75}


def test_what_is_measured_is_kept(tmp_path):
    ablation = Counted()
    few = {name: VARIANTS[name] for name in ("everything", "without made records")}
    first = ablate(ablation, few, 1, tmp_path)
    assert (tmp_path / "without-made-records-0" / RESULT).exists()
    results = ablate(ablation, few, 2, tmp_path)
    assert {name: found[:1] for name, found in results.items()} == first
    assert ablation.calls == 4
    assert result_table(results).splitlines() == [
        "| variant | one | two | mean | least and most |",
        "|---|---|---|---|---|",
        "| everything | 51.0 | 75.0 | 63.0 | 62.5, 63.5 |",
        "| without made records | 61.0 | 75.0 | 68.0 | 67.5, 68.5 |",
    ]


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_takes_something_away(name):
    """All but the whole; what sources are called is checked against the recipe's own."""
    from moonlynx.recipes.luna.answers import SETS
    from moonlynx.recipes.luna.pairs import PAIR_SETS

    known = (*SETS, *PAIR_SETS, "made:hotel", "changed:date", "removed", "shuffled")
    for beginning in VARIANTS[name].without:
        assert any(source.startswith(beginning) for source in known), beginning
