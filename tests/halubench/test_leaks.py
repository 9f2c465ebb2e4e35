import pytest

from moonlynx.halubench.leaks import find_leak

from ..cases import cases


@pytest.mark.parametrize("case", cases(__file__, "leaks"), ids=lambda case: case["text"])
def test_what_gives_the_making_away_is_found_and_what_only_reasons_is_not(case):
    assert bool(find_leak(["The answer is about a bridge.", case["text"]])) == case["leaks"]


def test_words_of_the_text_itself_may_be_taken_up():
    said = "The immune response was altered in both groups."
    assert find_leak([said]) == "response was altered"
    assert find_leak([said], about="We found that the immune response was altered.") is None
    assert find_leak(["The GOLD_ANSWER"], about="gold_answer") == "GOLD_ANSWER"
