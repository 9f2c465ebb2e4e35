"""A quantity that no document has may follow from those that it has."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.judge.text.meant import Beside
from moonlynx.judge.text.quantities import find_literals
from moonlynx.judge.text.sums import say_computed

from ...cases import cases


def computed(claim, quantity, text, question=""):
    (own,) = (one for one in find_literals(claim) if claim[one.start : one.end] == quantity)
    return say_computed(own, Beside(claim, question, text))


@pytest.mark.parametrize("case", cases(__file__, "sums"), ids=json.dumps)
def test_one_step_of_arithmetic_is_followed(case):
    claim, quantity, text, said = case
    assert computed(claim, quantity, text) == said


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        ("How many members are there in total?", "85", "48 and 37"),
        ("How many members are there?", "85", None),
        ("What do two adults pay?", "140 euros", "70 euros"),
        ("What do three adults pay?", "140 euros", None),
        ("How much more is it for adults?", "40 euros", "70 euros to 30 euros"),
    ],
)
def test_the_question_may_say_what_is_computed(question, answer, said):
    text = "It has 48 adults and 37 juniors. Adults pay 70 euros a year, juniors 30 euros."
    assert computed(f"{answer}.", answer, text, question) == said


amounts = st.integers(2, 900)


@given(amounts, amounts)
def test_any_total_and_any_difference_is_found(one, other):
    text = f"The desk costs {one} euros and the lamp {other} euros."
    both = f"{one} euros and {other} euros"
    total = f"{one + other} euros"
    assert computed(f"Together that is {total}.", total, text) == both
    if one != other:
        apart = f"{abs(one - other)} euros"
        found = computed(f"That is {apart} more.", apart, text)
        assert found == f"{one} euros to {other} euros"


@given(st.lists(amounts, max_size=6), st.integers(2000, 3000))
def test_what_does_not_follow_is_not_found(numbers, wrong):
    text = " ".join(f"It costs {number} euros." for number in numbers[:2])
    assert computed(f"In all it is {wrong} euros.", f"{wrong} euros", text) is None


@pytest.mark.parametrize("unit", ["1 ", "1 euro. ", "8:00 ", "3 May ", "1871 ", "2 of 3 each, "])
def test_a_text_of_numbers_is_computed_with_in_time(unit):
    claim = "In all it is 9,999 euros more, 77 % of it, for 13 hours, 14 years or 31 days."
    beside = Beside(claim, "How many in all?", unit * (2_000 // len(unit)))
    for own in find_literals(claim):
        assert say_computed(own, beside) is None
