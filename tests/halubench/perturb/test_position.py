"""An answer that opens with yes, no or maybe takes one position after a change, or is left."""

from random import Random

import pytest

from moonlynx.halubench.perturb import Rejections, changes

QUESTION = "Does the drug help patients?"
CONTEXT = (
    "The drug helps patients. It is safe and cheap. Most patients in the trial slept longer at "
    "night. The dose was 40 mg a day. It should be used in all clinics.",
)


def made(kind, text, question=QUESTION):
    rejections = Rejections()
    found = changes(text, CONTEXT, Random(0), (kind,), rejections, question)
    return {change.text for change in found}, {reason for _, reason in rejections}


@pytest.mark.parametrize(
    ("kind", "text", "new"),
    [
        # What stands beside, a value, and what follows from no position.
        (
            "negation",
            "Yes. It is safe. The dose was high.",
            "Yes. It is safe. The dose was not high.",
        ),
        (
            "comparative",
            "Yes. It is safe. Patients slept longer.",
            "Yes. It is safe. Patients slept shorter.",
        ),
        ("negation", "Maybe. The drug is safe.", "Maybe. The drug is not safe."),
        (
            "unit",
            "Yes. The dose was 40 mg, but it is safe.",
            "Yes. The dose was 40 g, but it is safe.",
        ),
        # No position is opened with.
        ("negation", "It is safe and cheap.", "It is not safe and cheap."),
        # What goes on from the explanation is turned round with it.
        (
            "yes-no",
            "Yes. The drug is safe. Therefore, it should be used.",
            "No. The drug is not safe. Therefore, it should not be used.",
        ),
        ("yes-no", "No. The drug is not safe. It is cheap.", "Yes. The drug is safe. It is cheap."),
    ],
)
def test_what_leaves_one_position_is_changed(kind, text, new):
    assert new in made(kind, text)[0]


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("negation", "Yes. The drug is safe.", "against opening"),
        ("quantifier", "Yes. Most patients in the trial slept.", "against opening"),
        ("comparative", "Yes. Patients slept longer at night.", "against opening"),
        ("negation", "Yes. It is safe. Patients of the drug are helped.", "against opening"),
        ("negation", "Yes. It is safe, but it is cheap.", "joined"),
        ("negation", "It is safe, which makes it cheap.", "joined"),
        ("negation", "It is safe, showing that it is cheap.", "joined"),
        ("comparative", "Patients slept longer because it is safe.", "joined"),
        ("negation", "It is safe. However, it is cheap.", "gone on from"),
        ("yes-no", "Yes. It is safe and helps patients.", "joined"),
        ("negation", "Maybe. It is cheap because the drug is safe.", "joined"),
        ("comparative", "Yes. It is safe. It is not only cheap; patients slept longer.", "joined"),
        ("yes-no", "Yes. It is safe, although it is cheap.", "joined"),
        ("yes-no", "Yes. It is safe and it is cheap.", "joined"),
        ("yes-no", "Yes. It is safe, which suggests use in all clinics.", "joined"),
        ("negation", "Yes. It is cheap. Therefore, the dose was high.", "gone on from"),
    ],
)
def test_what_would_say_two_things_is_left(kind, text, reason):
    found, reasons = made(kind, text)
    assert not found
    assert reason in reasons


@pytest.mark.parametrize(
    "text",
    [
        "Yes. The drug is safe. Thus use of it in clinics.",
        "Yes. The drug is safe. We recommend it to all clinics.",
        "Yes. The drug is safe. However, the dose was high when given.",
    ],
)
def test_an_opening_stays_where_what_goes_on_from_it_cannot_be_turned_round(text):
    assert made("yes-no", text)[0] == set()


def test_the_position_is_on_the_question():
    text = "Yes. It is safe. Patients of the drug are helped."
    assert made("negation", text, question="")[0]
