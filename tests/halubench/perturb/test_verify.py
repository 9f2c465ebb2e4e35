from random import Random

import pytest

from moonlynx.halubench.perturb import Rejections, changes
from moonlynx.halubench.perturb.source import read
from moonlynx.halubench.perturb.types import Draft, Edit
from moonlynx.halubench.perturb.verify import realise

CONTEXT = ("The Blues won 5 games. The Reds won 3 games. The hall is in Vienna.",)


def verdict(kind, text, *edits):
    rejections = Rejections()
    draft = Draft(kind, tuple(Edit(*edit) for edit in edits))
    change = realise(text, draft, read(CONTEXT), rejections)
    return change.text if change else next(iter(rejections))[1]


def edit(text, old, new):
    return text.index(old), text.index(old) + len(old), new


@pytest.mark.parametrize(
    ("kind", "text", "old", "new", "reason"),
    [
        ("number", "It costs 1,200 euros.", "1,200", "1200", "same"),
        ("number", "It takes three days.", "three", "3", "same"),
        ("comparative", "It is very low here.", "low", "very", "doubled word"),
        ("quantifier", "It is (partly) shut.", "(partly)", "(entirely", "ill-formed"),
        ("comparative", "Higher prices hurt.", "Higher", "lower", "ill-formed"),
        ("quantifier", "It is shut.", "shut", "a b c d e f g h i", "not minimal"),
        ("entity", "The Reds met the Blues.", "Blues", "Reds", "repeated name"),
        ("date", "It was flat in 2023 and in 2022.", "2022", "2023", "repeated value"),
        ("comparative", "Low rates are no higher.", "higher", "low", "repeated value"),
        ("date", "It rose from FY2021 to FY 2022.", "2022", "2021", "repeated value"),
        ("comparative", "Women ran as men did.", " men", " women", "repeated value"),
        ("number", "This FIGURE 3 | The 2 groups.", "2", "4", "cut"),
        ("comparative", "It has no better end.", "better", "worse", "under negation"),
        (
            "comparative",
            "That it has better ends was not shown.",
            "better",
            "worse",
            "under negation",
        ),
        ("comparative", "It was not, in all, better so.", "better", "worse", "under negation"),
        ("quantifier", "It will often not open.", "often", "never", "under negation"),
        ("negation", "It is marked by", "is", "is not", "cut"),
        ("negation", "They are met, of whom13,701", "are", "are not", "cut"),
        ("number", "Rates rose (95 to 18", "18", "14", "cut"),
        ("number", "ues won 5 games.", "5", "9", "cut"),
        ("negation", "It never is open.", "is", "is not", "double negation"),
        ("negation", "The rate was 7 % then.", "was", "was not", "hard to deny"),
        ("negation", "It is worth noting that it rose.", "is", "is not", "hard to deny"),
        ("negation", "They have a poor yield.", "have", "do not have", "hard to deny"),
        ("negation", "Harm is in itself unacceptable.", "is", "is not", "hard to deny"),
        ("entity", "The Reds met. The Reds left.", "Reds", "Blues", "said again"),
        ("comparative", "Men came. Other men left.", " men", " women", "said again"),
        ("comparative", "Is it higher now?", "higher", "lower", "no claim"),
        ("quantifier", "Here are some hints:", "some", "no", "no claim"),
    ],
)
def test_each_reason_is_counted(kind, text, old, new, reason):
    assert verdict(kind, text, edit(text, old, new)) == reason


def test_what_the_context_says_of_the_same_thing_is_refused():
    text = "The Blues won 4 games."
    assert verdict("number", text, edit(text, "4", "5")) == "stated"
    assert verdict("number", text, edit(text, "4", "7")) == "The Blues won 7 games."
    text = "The hall is in Paris."
    assert verdict("entity", text, edit(text, "Paris", "Vienna")) == "stated"


@pytest.mark.parametrize(
    ("text", "old", "new", "whole"),
    [
        ("It was a 7 percent rise.", "7", "8", "It was an 8 percent rise."),
        ("An 8 percent rise came.", "8", "7", "A 7 percent rise came."),
        ("It was an 11 percent rise.", "11", "12", "It was a 12 percent rise."),
        ("He met a doctor.", "doctor", "hour", "He met an hour."),
        ("He met an uncle.", "uncle", "unit", "He met a unit."),
        ("He met a boy.", "boy", "FBI agent", "He met an FBI agent."),
        ("He met an aunt.", "aunt", "European", "He met a European."),
        ("He met a boy.", "boy", "uninvited guest", "He met an uninvited guest."),
    ],
)
def test_articles_are_mended(text, old, new, whole):
    assert verdict("quantifier", text, edit(text, old, new)) == whole


def test_a_mended_article_is_part_of_the_change():
    text = "It is a cheap place."
    (change,) = changes(text, (text, "Some are expensive."), Random(0), ("comparative",))
    assert (change.old, change.new) == ("a cheap", "an expensive")
    assert change.text[change.start : change.end] == "an expensive"


def test_rejections_add_up_over_calls():
    rejections = Rejections()
    for _ in range(3):
        changes("Are there more dogs?", CONTEXT, Random(0), ("comparative",), rejections)
    assert rejections == {("comparative", "no claim"): 3}
