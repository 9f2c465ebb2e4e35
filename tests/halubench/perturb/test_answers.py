import pytest

from moonlynx.halubench.perturb.answers import verify_answer
from moonlynx.judge.batch.chat_tasks import Fault

from ..a_row import ANSWER, make_row

YES = "Yes. The bridge is made of steel."


def verdict(gold, answer, **fields):
    verified = verify_answer(make_row(answer=gold, **fields), answer)
    return verified.reason if isinstance(verified, Fault) else verified


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (ANSWER, ANSWER.replace("1894", "1902")),
        (ANSWER, ANSWER.replace("Anna Weiss", "Emil Brandt")),
        (ANSWER, ANSWER.replace("Anna Weiss drew", "Anna Weiss never drew")),
        (YES, "No. The bridge is not made of steel."),
        (YES, "Yes. The bridge is made of copper."),
        ("It is not made of wood.", "It is made of wood."),
        ("Not all are open.", "All are open."),
        ("1894", "1902"),
        ("Anna Weiss", "Emil Brandt"),
        (
            "The bridge is ninety metres long.",
            "The bridge is ninety metres long and crosses a gorge.",
        ),
    ],
)
def test_a_small_change_that_is_wrong_is_taken(gold, answer):
    assert verdict(gold, answer) == answer


@pytest.mark.parametrize(
    ("gold", "answer", "reason"),
    [
        (ANSWER, ANSWER, "same"),
        (ANSWER, ANSWER.upper(), "not minimal"),
        ("1,894 people", "1894 people", "same figure"),
        ("It took three days.", "It took 3 days.", "same"),
        ("It grew by 12.4%.", "It grew by 12.40%.", "same figure"),
        ("It grew by 12.4%.", "It grew by 12%.", "same figure"),
        (ANSWER, "The bridge was built in 1894.", "only shortened"),
        (
            ANSWER,
            "Nobody can tell from this text when any of the two was really made.",
            "not minimal",
        ),
        (ANSWER, "I'm sorry, but I can't help with that.", "no answer"),
        (ANSWER, "", "no answer"),
        (ANSWER, ANSWER + " This answer was altered.", "names the task"),
        ("It was built in 1894.", "The GOLD_ANSWER is 1902.", "names the task"),
        (YES, "The bridge is made of steel.", "another form"),
        ("$5,818", "a large sum", "another form"),
        (ANSWER, ANSWER.replace("the tower", "the the tower"), "doubled word"),
        (ANSWER, ANSWER.replace("in 1894.", "in 1902 ."), "ill-formed"),
        ("It is made of iron.", "It is ninety metres long and made of iron.", "stated"),
    ],
)
def test_each_reason_is_named(gold, answer, reason):
    assert verdict(gold, answer) == reason


def test_what_the_context_says_of_the_same_thing_is_refused():
    gold = "The tower is made of brick."
    assert verdict(gold, "The tower is made of stone.") == "stated"
    asked = "What stands beside the bridge?"
    assert verdict("a mill", "a tower", question=asked) == "stated"
    assert verdict("a mill", "a barn", question=asked) == "a barn"


def test_articles_are_mended():
    assert verdict("It is a bridge.", "It is a arch.") == "It is an arch."
