"""Decades and centuries, and their years."""

import pytest

from moonlynx.judge.text.periods import find_periods


@pytest.mark.parametrize(
    ("text", "period", "held", "not_held"),
    [
        ("rebuilt in the 1990s.", "the 1990s", [1990, 1999], [1989, 2000]),
        ("in the early 1970s", "the early 1970s", [1970, 1974], [1975, 1979]),
        ("a mid-1950s car", "mid-1950s", [1953, 1956], [1952, 1958]),
        ("in the nineties", "the nineties", [1892, 1994], [1989]),
        ("in the '60s", "the '60s", [1960, 1869], [1959]),
        ("in the middle of the 1880s", "the middle of the 1880s", [1885], [1881, 1889]),
        ("in the late 19th century", "the late 19th century", [1850, 1900], [1830]),
        ("eighteenth-century walls", "eighteenth-century", [1700, 1800], [1801, 1699]),
        ("the twenty-first century", "the twenty-first century", [2001], [1999]),
        ("in the 1800s", "the 1800s", [1800, 1899], [1799]),
    ],
)
def test_a_period_has_its_years(text, period, held, not_held):
    (found,) = find_periods(text)
    assert text[found.start : found.end] == period
    assert all(any(year in years for years in found.years) for year in held)
    assert not any(year in years for years in found.years for year in not_held)


@pytest.mark.parametrize("text", ["the century", "a quarter century", "1990", "the 1995s", "90s"])
def test_other_words_are_no_period(text):
    assert not [*find_periods(text)]
