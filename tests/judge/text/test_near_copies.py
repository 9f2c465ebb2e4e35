import pytest

from moonlynx.judge.text.near_copies import find_changes

from ...cases import cases


@pytest.mark.parametrize(("source", "claim", "expected"), cases(__file__, "near_copies"))
def test_what_a_copy_turns_round(source, claim, expected):
    found = [
        [one.kind, source[slice(*one.source)], claim[slice(*one.claim)]]
        for one in find_changes(source, claim) or ()
    ]
    assert found == ([expected] if expected else [])


def test_a_copy_that_turns_nothing_round_is_told_from_another_sentence():
    sentence = "The boat is safe for small children."
    assert find_changes(sentence, f"{sentence} ") == []
    assert find_changes(sentence, "Lunch is served in the garden.") is None
