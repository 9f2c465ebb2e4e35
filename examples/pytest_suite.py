"""pytest: `assert_grounded` comes with moonlynx; run this by `pytest examples/pytest_suite.py`."""

CONTEXT = ["The town library is open from 10:00 to 16:00 on Saturdays."]


def answer(question: str) -> str:
    """Stand in for the system under test."""
    return {"When?": "On Saturdays it opens at 10:00."}.get(question, "It serves breakfast.")


def test_opening_hours(assert_grounded):
    assert_grounded(answer("When?"), CONTEXT, question="When does the library open?")


def test_food(assert_grounded):
    assert_grounded(answer("Is there food?"), CONTEXT)  # fails, and shows what has no support


# 1 failed, 1 passed
