import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.halubench.composition import COMPOSITION, scale, total
from moonlynx.judge.contract.types import MoonlynxError


def shares(parts):
    return {(part, share.source): share for part in parts for share in parts[part]}


def test_the_papers_composition():
    (test,) = COMPOSITION["test"].values()
    assert {share.source: (share.rows, share.fails) for share in test} == {
        "FinanceBench": (1_000, 500),
        "DROP": (1_000, 500),
        "covidQA": (1_000, 500),
        "pubmedQA": (1_000, 500),
        "halueval": (10_000, None),
        "RAGTruth": (900, 160),
    }
    assert total(COMPOSITION["test"]) == 14_900
    parts = COMPOSITION["train"]
    assert {part: sum(share.rows for share in parts[part]) for part in parts} == {
        "train": 2_400,
        "validation": 800,
    }
    assert all(share.fails * 2 == share.rows for share in shares(parts).values())


def test_a_tenth_is_a_tenth_of_everything():
    for share in shares(scale(COMPOSITION["test"], 1_490)).values():
        assert share.rows == {"halueval": 1_000, "RAGTruth": 90}.get(share.source, 100)
        assert share.fails == {"halueval": None, "RAGTruth": 16}.get(share.source, 50)


@pytest.mark.fuzz
@given(st.sampled_from(["test", "train"]), st.integers(1, 3_200))
def test_every_share_is_within_a_row_of_its_proportion(split, rows):
    whole, scaled = shares(COMPOSITION[split]), shares(scale(COMPOSITION[split], rows))
    assert sum(share.rows for share in scaled.values()) == rows
    for key, share in scaled.items():
        exact = whole[key].rows * rows / total(COMPOSITION[split])
        assert abs(share.rows - exact) < 2
        if share.fails is not None:
            assert abs(share.fails - whole[key].fails * rows / total(COMPOSITION[split])) < 1


@pytest.mark.parametrize("rows", [0, -1, 14_901])
def test_too_many_or_too_few_rows_are_refused(rows):
    with pytest.raises(MoonlynxError, match="--rows: must be between 1 and 14900"):
        scale(COMPOSITION["test"], rows)
