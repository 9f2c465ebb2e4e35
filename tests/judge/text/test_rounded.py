"""A number in round figures is the number, where the claim says so and the right way."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.judge.text.meant import Beside
from moonlynx.judge.text.quantities import find_literals
from moonlynx.judge.text.rounded import find_exact

from ...cases import cases


def rounded(claim, quantity, exact):
    (own,) = (one for one in find_literals(claim) if claim.startswith(quantity, one.start))
    beside = Beside(claim, "", exact)
    (other,) = beside.numbers
    return other in find_exact(own, beside)


@pytest.mark.parametrize("case", cases(__file__, "rounded"), ids=json.dumps)
def test_the_word_in_front_says_how_far_it_may_be_off(case):
    claim, quantity, exact, expected = case
    assert rounded(claim, quantity, exact) is expected


@given(st.integers(100, 9_000), st.integers(100, 9_000))
def test_no_number_is_on_both_sides_of_another(said, exact):
    over, under, about = (
        rounded(f"It is {word} {said} m.", f"{said} m", f"{exact} m")
        for word in ("over", "under", "about")
    )
    assert not (over and under)
    assert over <= (exact > said)
    assert under <= (exact < said)
    assert about == (20 * abs(exact - said) <= exact)
