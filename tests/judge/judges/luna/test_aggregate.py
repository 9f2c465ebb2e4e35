import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.judge.judges.luna.aggregate import (
    answer_score,
    blend,
    claim_support,
    unsupported_ranges,
)

LOGITS = np.array([[2.0, -1.0, 0.0, -3.0], [-2.0, 1.0, 0.0, -4.0]], dtype=np.float32)
CLAIMS = np.array([0.5, -0.5], dtype=np.float32)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


@pytest.mark.parametrize(
    ("form", "support"),
    [
        ("claim", sigmoid(0.5)),
        ("min", sigmoid(-3)),
        ("lowest-3", (sigmoid(-3) + sigmoid(0) + sigmoid(1)) / 3),
    ],
)
def test_a_claims_support(form, support):
    found = claim_support(LOGITS, CLAIMS, form)
    assert found.support == pytest.approx(support)
    # Each token counts by the window that speaks most for it (eq. 3).
    assert found.tokens == pytest.approx([sigmoid(x) for x in (2, 1, 0, -3)])
    assert found.window == 0


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_two_readings_are_mixed_in_log_odds(weight):
    first = claim_support(LOGITS, CLAIMS, "claim")._replace(conflict=sigmoid(-2))
    second = claim_support(LOGITS[1:], CLAIMS[1:], "claim")._replace(conflict=sigmoid(4))
    found = blend(first, second, weight)
    assert found.support == pytest.approx(sigmoid((1 - weight) * 0.5 - weight * 0.5))
    assert found.conflict == pytest.approx(sigmoid(-2 * (1 - weight) + 4 * weight))
    pairs = zip((2, 1, 0, -3), (-2, 1, 0, -4), strict=True)
    assert found.tokens == pytest.approx([sigmoid((1 - weight) * a + weight * b) for a, b in pairs])
    assert blend(first._replace(conflict=None), second, weight).conflict is None
    certain = blend(first._replace(support=1.0), second._replace(support=0.0), weight)
    assert 0 < certain.support < 1


@pytest.mark.parametrize(
    ("form", "score"),
    [
        ("max", 0.5),
        ("noisy-or", 1 - 0.5 * 0.8 * 0.9),
        ("noisy-or-root", 1 - (0.5 * 0.8 * 0.9) ** (1 / 3**0.5)),
        ("mean-top2", 0.35),
    ],
)
def test_an_answers_score(form, score):
    assert answer_score([0.1, 0.5, 0.2], form) == pytest.approx(score)
    assert answer_score([0.3], form) == pytest.approx(0.3)
    assert answer_score([], form) == 0.0


def mark(text, low, threshold=0.5):
    """Mark a text whose tokens are runs of three letters and single other characters."""
    offsets, at = [], 0
    while at < len(text):
        width = 3 if text[at : at + 3].isalnum() and len(text[at : at + 3]) == 3 else 1
        if not text[at].isspace():
            offsets.append((at, at + width))
        at += width
    support = np.array([0.1 if text[a:b] in low else 0.9 for a, b in offsets])
    ranges = unsupported_ranges(text, np.array(offsets), support, threshold)
    return [text[start:end] for start, end in ranges]


@pytest.mark.parametrize(
    ("text", "low", "marked"),
    [
        ("the red dog ran off", {"red"}, ["red"]),
        ("the red dog ran off", {"red", "off"}, ["red", "off"]),
        ("the red dog ran off", {"red", "dog"}, ["red dog"]),
        # One short token between two marked ones is no border.
        ("the red dog ran off", {"red", "ran"}, ["red dog ran"]),
        # Part of a word is the word.
        ("abcdefghi is odd", {"def"}, ["abcdefghi"]),
        ("it is red, dog", {"red", "dog"}, ["red, dog"]),
    ],
)
def test_marked_ranges(text, low, marked):
    assert mark(text, low) == marked


def test_where_no_token_is_low_the_lowest_word_is_marked():
    assert mark("the red dog ran", {"dog"}, threshold=0.05) == ["dog"]


@pytest.mark.fuzz
@given(st.text("ab -é今", min_size=1, max_size=30).filter(str.strip), st.data())
def test_ranges_are_apart_and_inside(text, data):
    offsets = np.array([(i, i + 1) for i, c in enumerate(text) if not c.isspace()])
    support = np.array(
        data.draw(st.lists(st.floats(0, 1), min_size=len(offsets), max_size=len(offsets)))
    )
    ranges = unsupported_ranges(text, offsets, support, 0.5)
    assert ranges
    previous = 0
    for start, end in ranges:
        assert previous <= start < end <= len(text)
        assert not text[start].isspace()
        assert not text[end - 1].isspace()
        previous = end
    low = {start for (start, _), s in zip(offsets.tolist(), support, strict=True) if s < 0.5}
    assert all(any(start <= at < end for start, end in ranges) for at in low)
