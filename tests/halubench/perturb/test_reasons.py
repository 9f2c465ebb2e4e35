from random import Random

import pytest

from moonlynx.halubench.perturb import Rejections, changes

from ...cases import cases

QUESTION = "Does the drug help patients?"
CONTEXTS = {
    "position": (
        "The drug helps patients. It is safe and cheap. Most patients in the trial slept longer at "
        "night. The dose was 40 mg a day. It should be used in all clinics.",
    ),
    "held": (
        "We followed 60 patients with severe asthma for two years. Attacks were fewer in the "
        "treated group than in the control group. Blood was drawn in Basel on May 4, 1998.",
    ),
}


def made(rules, kind, text, question=QUESTION, context=()):
    rejections = Rejections()
    context = (*CONTEXTS[rules], *context)
    found = changes(text, context, Random(0), (kind,), rejections, question)
    return {change.text for change in found}, {reason for _, reason in rejections}


@pytest.mark.parametrize("case", cases(__file__, "reasons"), ids=lambda case: case["text"])
def test_an_answer_is_changed_or_left_for_a_reason(case):
    question = QUESTION if case["rules"] == "position" else ""
    found, reasons = made(case["rules"], case["kind"], case["text"], question)
    if case.get("makes"):
        assert case["makes"] in found
    elif "makes" in case:
        assert found
    else:
        assert not found
        assert case.get("reason") in {*reasons, None}


def test_what_is_not_asked_for_or_given_word_for_word_is_changed():
    text = "Yes. It is safe. Patients of the drug are helped."
    assert made("position", "negation", text, question="")[0]
    assert made("held", "number", "The ratio is 0.54.", question="")[0]
    text = "Further studies of severe asthma are needed."
    assert made("held", "negation", text, question="", context=(text,))[0]
