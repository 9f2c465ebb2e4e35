from itertools import combinations

import pytest

from moonlynx.judge.contract.types import MetricInput
from moonlynx.recipes.luna2.data import SETS, LabelledInput, load, split
from moonlynx.recipes.luna2.data.rows import Placed
from moonlynx.recipes.luna2.data.splits import SIDES, shingles

from ....labelled_data import DATA, reads_all_data

WORDS = [f"word{number}" for number in range(40)]


def placed(text, group, side=None):
    row = LabelledInput(MetricInput(input="", output=text), frozenset({"true"}), group, "s")
    return Placed(row, side)


def test_a_group_is_on_one_side_the_same_for_the_same_seed():
    rows = [placed(f"text {n} of many, by itself {n * 7}", f"group {n % 50}") for n in range(400)]
    found = split(rows, 1)
    groups = [{row.group for row in getattr(found, side)} for side in SIDES]
    assert all(groups)
    assert not any(one & other for one, other in combinations(groups, 2))
    assert sum(len(getattr(found, side)) for side in SIDES) + found.removed == 400
    rows = [placed(f"text {n}", f"group {n}") for n in range(100)]
    assert split(rows, 1) == split(rows, 1)
    assert split(rows, 1) != split(rows, 2)
    found = split([placed("one", "g", "train"), placed("two", "g", "test")], 1)
    assert not found.train
    assert len(found.test) == 2


def test_what_is_like_a_text_for_testing_is_removed_from_training():
    rows = [
        placed("You are, in a word: WONDERFUL!", "a", "train"),
        placed("you are in a word wonderful", "b", "test"),
        placed("something else", "c", "train"),
    ]
    found = split(rows, 1)
    assert [row.group for row in found.train] == ["c"]
    assert [row.group for row in found.test] == ["b"]
    assert found.removed == 1
    rows = [
        placed(" ".join(WORDS), "tested", "test"),
        placed(" ".join(WORDS[:30] + ["more"] * 5), "most of it", "validation"),
        placed(" ".join([*WORDS[:9], *(f"own{n}" for n in range(30))]), "a phrase", "train"),
    ]
    found = split(rows, 1)
    assert not found.validation
    assert [row.group for row in found.train] == ["a phrase"]


@reads_all_data
@pytest.mark.parametrize("metric", sorted(SETS.keys() - {"context_adherence"}))
def test_no_group_and_no_text_is_on_two_sides(metric):
    found = load(metric, DATA)
    sides = [getattr(found, side) for side in SIDES]
    assert all(sides)
    for one, other in combinations(sides, 2):
        assert not {row.group for row in one} & {row.group for row in other}
    held = set().union(*(shingles(row) for row in (*found.validation, *found.test)))
    for row in found.train:
        own = shingles(row)
        assert not own or len(own & held) < len(own) / 2
    classes = [set().union(*(row.labels for row in side)) for side in (found.train, found.test)]
    assert classes[0] == classes[1]


@reads_all_data
def test_in_bipia_neither_the_source_nor_the_length_tells_the_label():
    rows = [row for row in load("prompt_injection", DATA).test if row.source.startswith("bipia")]
    for source in {row.source for row in rows}:
        own = [row for row in rows if row.source == source]
        attacked = [row for row in own if "true" in row.labels]
        assert 0.4 < len(attacked) / len(own) < 0.6
