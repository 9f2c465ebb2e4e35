import pytest

from moonlynx.halubench.perturb.by_model import verify_answer
from moonlynx.judge.batch.chat_tasks import Fault

from ...cases import cases
from ..a_row import make_row


def verdict(gold, answer, **fields):
    verified = verify_answer(make_row(answer=gold, **fields), answer)
    return verified.reason if isinstance(verified, Fault) else verified


@pytest.mark.parametrize("case", cases(__file__, "answers"), ids=lambda case: case["answer"])
def test_a_small_change_that_is_wrong_is_taken_and_any_other_refused_for_a_reason(case):
    assert verdict(case["gold"], case["answer"]) == case["verdict"]


def test_a_short_answer_that_the_context_holds_is_refused_by_its_question():
    asked = "What stands beside the bridge?"
    assert verdict("a mill", "a tower", question=asked) == "stated"
    assert verdict("a mill", "a barn", question=asked) == "a barn"
