import pytest

from moonlynx.halubench.leaks import find_leak

LEAKS = [
    "The CHANGE_MADE turns 5 into 6.",
    "As the change made shows, 6 is wrong.",
    "The GOLD_ANSWER says 5.",
    "This differs from the gold answer.",
    "“GOLD_ANSWER” is 5.",
    "The gold label is FAIL.",
    "Compared with the ground truth, the year is off.",
    "The answer was subtly changed.",
    "The year in it has been altered from 1894 to 1895.",
    "The number was modified to 6.",
    "The answer changes “5” to “6”.",
    "The ANSWER incorrectly replaces Weiss by Schwarz.",
    "The perturbed statement is false.",
    "This is a perturbation.",
    "The altered answer is wrong.",
    "The modification made to the answer is small.",
    "The correct answer is 1894.",
    "The original answer says 1894.",
    "The answer originally said 1894.",
    "It should have been 1894.",
    "According to the annotator, this is baseless.",
    "The annotation says so.",
    "The span is labelled as baseless.",
    "UNSUPPORTED_SPAN is not in the context.",
]
FINE = [
    "The answer says 1895, but the document says: “It was built in 1894”.",
    "The document contradicts the answer: it was 1894.",
    "The CONTEXT does not mention a tower of glass.",
    "Nothing in the document says “the response was altered”.",
    "The document says: “The plans have been changed in 1893”.",
    "The patient had an altered mental state, which the answer leaves out.",
    "The bridge was rebuilt after the flood, as the answer says.",
    "The ANSWER gives the right year.",
    "The document says: “the change made to the gold standard”.",
    "The rate changed from 5% to 6%, and so the answer has it.",
]


@pytest.mark.parametrize("text", LEAKS)
def test_what_gives_the_making_away_is_found(text):
    assert find_leak(["The answer is about a bridge.", text])


@pytest.mark.parametrize("text", FINE)
def test_what_only_reasons_is_not(text):
    assert find_leak([text]) is None


def test_words_of_the_text_itself_may_be_taken_up():
    said = "The immune response was altered in both groups."
    assert find_leak([said]) == "response was altered"
    assert find_leak([said], about="We found that the immune response was altered.") is None
    assert find_leak(["The GOLD_ANSWER"], about="gold_answer") == "GOLD_ANSWER"
