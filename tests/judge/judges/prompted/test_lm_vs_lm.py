import pytest

from moonlynx.judge.judges.prompted.lm_vs_lm import LmVsLm

from .scripted import EXAMPLE, judged, section


class Court:
    """Plays both sides: asks `rounds` times, and holds one claim correct."""

    def __init__(self, rounds=1):
        self.rounds = rounds

    def __call__(self, request):
        properties = (request.schema or {}).get("properties", {})
        if "questions" in properties:
            said = section(request, "SAID SO FAR").count("Examiner:")
            return {"questions": [f"Question {said + 1}?"] if said < self.rounds else []}
        if "correct" in properties:
            return {"correct": section(request, "CLAIM") == "It was built in 1894."}
        return f"Reply to {section(request, 'QUESTIONS OF THE EXAMINER')}"


def judge_one(court, **options):
    return judged(LmVsLm("m", **options), court)


def test_each_sentence_is_examined_and_only_the_examinee_sees_the_documents():
    _, verdict = judge_one(Court())
    assert [s.label for s in verdict.sentences] == ["NO_INFO", "SUPPORTED", "UNSUPPORTED"]
    assert (verdict.score, verdict.raw_score) == ("FAIL", 1.0)
    assert verdict.usage.calls == 2 * 4, "two questions, an answer and a decision for each"
    backend, _ = judge_one(Court())
    for request in backend.requests:
        shown = EXAMPLE.context[1] in request.messages[0].content
        assert shown == (request.schema is None)


@pytest.mark.parametrize(("rounds", "most", "calls"), [(1, 1, 3), (2, 5, 6), (9, 2, 5)])
def test_the_examiner_asks_until_it_has_no_more_or_the_rounds_are_over(rounds, most, calls):
    backend, verdict = judge_one(Court(rounds), rounds=most)
    assert verdict.usage.calls == 2 * calls
    said = section(backend.requests[-1], "WHAT WAS SAID")
    asked = min(rounds, most)
    assert said.splitlines()[:4] == [
        "Examiner:",
        "1. Question 1?",
        "Examinee:",
        "Reply to 1. Question 1?",
    ]
    assert said.count("Examinee:") == asked


@pytest.mark.parametrize("reply", [{"questions": []}, {"questions": "What?"}, "No questions."])
def test_an_examination_that_fails_decides_nothing(reply):
    _, verdict = judge_one(lambda _: reply)
    assert (verdict.score, verdict.error.code) == (None, "unparsed")


def test_a_decision_that_cannot_be_read_is_none():
    court = Court()

    def hesitant(request):
        reply = court(request)
        return {"correct": "probably"} if "correct" in reply else reply

    _, verdict = judge_one(hesitant)
    assert (verdict.score, verdict.error.code) == (None, "unparsed")
