import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.halubench.perturb import KINDS, changes, remove_support

from ...strategies import any_strings, prose

_WORDS = st.sampled_from(
    """The old bridge is not a an 8 1,200 $4.5 42% May 26, 1998 in Paris Curie and both all of more
    than Yes, won by 3-5 ( ) years. first never Vienna. said million""".split()  # noqa: SIM905
)
sentences = st.lists(_WORDS, min_size=1, max_size=25).map(" ".join)
texts = sentences | prose | any_strings
contexts = st.lists(texts, max_size=3)


@pytest.mark.fuzz
@given(texts, contexts, st.integers(0, 99))
def test_changes_are_true_to_their_offsets(text, context, seed):
    for change in changes(text, context, Random(seed)):
        assert change.kind in KINDS
        assert change.new
        assert change.text[change.start : change.end] == change.new
        assert change.text[: change.start] + change.old + change.text[change.end :] == text
        assert change.text != text


@pytest.mark.fuzz
@given(texts, contexts)
def test_any_context_can_lose_its_support_or_not(text, context):
    removed = remove_support(text, context)
    assert removed is None or sum(map(len, removed)) < sum(map(len, context))


@pytest.mark.parametrize(
    "unit", ["and ", "A ", "A. ", "1-", "both a ", "is not ", "5 to ", "The Old "]
)
def test_long_texts_take_no_time_worth_the_name(unit):
    text = unit * (2_000 // len(unit))
    start = time.process_time()
    changes(text, (text,), Random(0))
    assert time.process_time() - start < 5
