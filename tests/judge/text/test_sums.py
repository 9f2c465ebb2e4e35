"""A quantity that no document has may follow from those that it has."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.judge.text.quantities import find_literals
from moonlynx.judge.text.sums import say_computed

from ...cases import cases


def computed(claim, quantity, text):
    told, theirs = tuple(find_literals(claim)), tuple(find_literals(text))
    (own,) = (one for one in told if claim[one.start : one.end] == quantity)
    return say_computed(own, claim, told, text, theirs)


@pytest.mark.parametrize("case", cases(__file__, "sums"), ids=json.dumps)
def test_one_step_of_arithmetic_is_followed(case):
    claim, quantity, text, said = case
    assert computed(claim, quantity, text) == said


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
