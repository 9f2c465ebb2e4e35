from random import Random

import pytest

from moonlynx.halubench.perturb import Rejections, changes

CONTEXT = (
    "We followed 60 patients with severe asthma for two years. Attacks were fewer in the treated "
    "group than in the control group. Blood was drawn in Basel on May 4, 1998.",
)


def made(kind, text, context=CONTEXT):
    rejections = Rejections()
    found = changes(text, context, Random(0), (kind,), rejections)
    return bool(found), {reason for _, reason in rejections}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("comparative", "Attacks were fewer in the treated group than elsewhere."),
        ("comparative", "In severe asthma the treated group had fewer attacks."),
        ("negation", "Attacks were fewer in the treated group."),
        ("number", "In 60 patients, severe asthma and attacks came with colds and coughs."),
        ("date", "Blood was drawn from patients of the treated group in May 1998 in Basel."),
        ("yes-no", "Yes"),
        ("yes-no", "Yes. Attacks were fewer in the treated group."),
        ("yes-no", "Yes. Dietary advice is given by clinics."),
        ("invented-clause", "The new hospital was opened by the mayor of the old town."),
    ],
)
def test_what_the_context_bears_on_is_changed(kind, text):
    assert made(kind, text)[0]


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("comparative", "Schools in poor districts need larger budgets.", "not held"),
        ("negation", "Dietary advice is given by many clinics.", "not held"),
        (
            "number",
            "In 75 patients, dust and pollen and severe colds came with fever and coughs.",
            "not held",
        ),
        ("negation", "Further studies of severe asthma are needed.", "outlook"),
        ("comparative", "Future randomised trials may show fewer attacks.", "outlook"),
    ],
)
def test_what_the_context_does_not_bear_on_is_left(kind, text, reason):
    found, reasons = made(kind, text)
    assert not found
    assert reason in reasons


def test_a_value_that_was_asked_for_may_be_computed():
    assert made("number", "The ratio is 0.54.")[0]


def test_an_outlook_that_the_context_gives_word_for_word_is_changed():
    text = "Further studies of severe asthma are needed."
    assert made("negation", text, (*CONTEXT, text))[0]
