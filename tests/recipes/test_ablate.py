"""Variants leave out what they say, and are trained and measured once."""

import pytest

from moonlynx.judge.backends.encoder import TokenType
from moonlynx.recipes.luna.ablate import RESULT, ablate, result_table
from moonlynx.recipes.luna.items import Item
from moonlynx.recipes.luna.settings import RECIPES, Run, Stage
from moonlynx.recipes.luna.variants import VARIANTS, Variant, variants_of, windows_apart
from moonlynx.recipes.runs import SettingsError, find_recipe, read_run

NEW = ((0, 2, TokenType.NEW_WORD),)
ITEMS = [
    Item("It is red.", ("It is red.",), True, source, new=NEW)
    for source in ("mnli", "mnli-changed", "made:hotel", "changed:date", "frank")
]


def sources(variant):
    return [item.source for item in variant.learned(ITEMS)]


def test_sources_are_left_out_by_their_beginnings():
    assert sources(Variant()) == [item.source for item in ITEMS]
    assert sources(Variant(without=("made:",))) == ["mnli", "mnli-changed", "changed:date", "frank"]
    assert sources(Variant(without=("mnli", "changed"))) == ["made:hotel", "frank"]
    assert {item.new for item in Variant(new_words=False).learned(ITEMS)} == {()}
    assert {item.new for item in Variant().learned(ITEMS)} == {NEW}


def test_a_variant_that_changes_nothing_in_a_stage_is_left_out():
    def stages(name):
        return read_run(find_recipe(name, RECIPES), Run).stages["answers"]

    verdicts = "without another judge's verdicts"
    assert set(VARIANTS) - set(variants_of(stages("mini"), ())) == {verdicts}
    assert set(variants_of(stages("mini-research"), ())) == set(VARIANTS)
    assert set(variants_of(stages("mini-no-ragtruth"), ())) < set(VARIANTS)
    only = ["two windows a claim", "everything"]
    assert list(variants_of(stages("mini"), only)) == ["everything", "two windows a claim"]
    with pytest.raises(SettingsError, match=r"only: this stage has no variant .*verdicts.*: every"):
        variants_of(stages("mini"), [verdicts])
    made = variants_of(Stage(made=5, changed={"removed": 1}, epochs=1), ())
    assert [name for name, variant in made.items() if variant.without] == [
        "without made records",
        "without claims whose support was taken",
    ]


def test_each_window_gets_a_label_of_its_own():
    premises = ("The bridge is old.", "The bridge opened in 1894.", "It opened in 1894.")
    right = Item("The bridge opened in 1894.", premises, True, "frank", spans=(), belief=0.9)
    first, second, third = windows_apart(right)
    assert [part.premises for part in (first, second, third)] == [(text,) for text in premises]
    assert [part.supported for part in (first, second, third)] == [False, True, False]
    assert (second.spans, second.belief) == ((), 0.9)
    assert (first.spans, first.belief) == (((0, 26),), None)
    wrong = Item("It opened in 1895.", premises, False, "frank", spans=((13, 17),))
    assert [part.spans for part in windows_apart(wrong)] == [((13, 17),)] * 3
    unknown = Item("It opened.", premises, None, "frank", answer="frank/1")
    assert list(windows_apart(unknown)) == [unknown]


def test_variants_differ_from_the_whole_and_from_each_other():
    assert VARIANTS["everything"] == Variant()
    assert len(set(VARIANTS.values())) == len(VARIANTS) > 10


class Counted:
    """Measures by the length of `without` and the seed, and counts."""

    def __init__(self):
        self.calls = 0

    def measure(self, variant, seed, out):
        self.calls += 1
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
    from moonlynx.recipes.luna.pair_sets import PAIR_SETS

    known = (*SETS, *PAIR_SETS, "made:hotel", "changed:date", "removed", "shuffled")
    for beginning in VARIANTS[name].without:
        assert any(source.startswith(beginning) for source in known), beginning
