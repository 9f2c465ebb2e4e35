import pytest

from moonlynx.halubench.halves import RulePerturber, make_halves
from moonlynx.halubench.perturb import Rejections

from .test_overlap import row


class OnlyEven:
    name = "even"

    def __init__(self):
        self.rejections = Rejections()
        self.asked = 0

    def __call__(self, rows):
        self.asked += len(rows)
        return [
            row.model_copy(update={"label": "FAIL", "gold": row.answer, "answer": "wrong"})
            if int(row.group) % 2 == 0
            else None
            for row in rows
        ]


def labels(halves):
    return [row.label for row in halves.rows]


def test_both_halves_are_rows_that_could_be_made_wrong_or_are_filled():
    perturber = OnlyEven()
    halves = make_halves(iter([row(n) for n in range(100)]), 5, 5, perturber)
    assert labels(halves) == ["FAIL"] * 5 + ["PASS"] * 5
    assert all(int(each.group) % 2 == 0 for each in halves.rows)
    assert halves.unchanged == 0
    assert perturber.asked < 40
    assert {each.gold for each in halves.rows[5:]} == {None}
    halves = make_halves(iter([row(n) for n in range(14)]), 5, 5, OnlyEven())
    assert labels(halves) == ["FAIL"] * 5 + ["PASS"] * 5
    assert (halves.unchanged, halves.failed) == (3, 7)


@pytest.mark.parametrize(("there", "fails", "passes"), [(6, 3, 3), (0, 0, 0), (1, 0, 0)])
def test_too_few_rows_keep_the_balance(there, fails, passes):
    halves = make_halves(iter([row(n) for n in range(there)]), 50, 50, OnlyEven())
    assert labels(halves) == ["FAIL"] * fails + ["PASS"] * passes


def test_a_rules_change_is_exact_and_the_same_whatever_stands_beside_it():
    rows = [row(n) for n in range(8)]
    perturber = RulePerturber(seed=3)
    made = perturber(rows)
    assert made == [RulePerturber(seed=3)([each])[0] for each in rows]
    assert made != RulePerturber(seed=4)(rows)
    for right, wrong in zip(rows, made, strict=True):
        (edit,) = wrong.edits
        undone = wrong.answer[: edit.start] + edit.old + wrong.answer[edit.end :]
        assert undone == wrong.gold == right.answer != wrong.answer
        assert wrong.label == "FAIL"
        assert wrong.answer[edit.start : edit.end] in wrong.change
        assert (wrong.id, wrong.context) == (right.id, right.context)
