import pytest

from moonlynx.judge.backends.base import ChatReply
from moonlynx.judge.judges.prompted.ragas import Ragas

from ....cases import cases
from .scripted import judged, section

TRUE, FALSE = ({"reason": "x", "supported": value} for value in (True, False))
CLAIMS = {"claims": ["The bridge was built in 1894.", "The bridge\nis made of tin."]}


def judge_one(*replies, **options):
    return judged(Ragas("m", **options), list(replies))


def claims(number):
    return {"claims": [f"Claim {index}." for index in range(number)]}


@pytest.mark.parametrize(("verdicts", "raw_score", "score"), cases(__file__, "shares"))
def test_the_share_of_claims_is_the_score(verdicts, raw_score, score):
    numbered = {str(number): verdict for number, verdict in enumerate(verdicts, 1)}
    _, verdict = judge_one(claims(len(verdicts)), numbered)
    assert (verdict.raw_score, verdict.score) == (raw_score, score)
    assert verdict.usage.calls == 2
    assert len(verdict.reasoning) == len(verdicts)


def test_claims_are_put_to_the_model_one_a_line():
    backend, verdict = judge_one(CLAIMS, {"1": TRUE, "2": FALSE}, threshold=0.5)
    assert section(backend.requests[1], "CLAIMS") == (
        "1. The bridge was built in 1894.\n2. The bridge is made of tin."
    )
    assert backend.requests[1].schema["required"] == ["1", "2"]
    assert verdict.score == "FAIL"
    assert verdict.reasoning[1] == "UNSUPPORTED: “The bridge is made of tin.”"


@pytest.mark.parametrize("listed", [[], ["", " \n"]])
def test_no_claims_is_an_outcome_of_its_own(listed):
    backend, verdict = judge_one({"claims": listed})
    assert (verdict.score, verdict.raw_score, verdict.error.code) == (None, None, "abstained")
    assert len(backend.requests) == 1


@pytest.mark.parametrize("reply", ["none", {"claims": "x"}, {"claims": [1]}, {}])
def test_claims_that_cannot_be_read(reply):
    assert judge_one(reply)[1].error.code == "unparsed"


@pytest.mark.parametrize(
    ("verdicts", "score", "code"),
    [
        ({"1": TRUE, "2": TRUE}, None, "unparsed"),
        ({"1": FALSE, "2": TRUE}, None, "unparsed"),
        ({"1": FALSE, "2": FALSE}, "FAIL", None),
        ({"1": TRUE, "2": TRUE, "3": "true"}, None, "unparsed"),
        ({"1": TRUE, "2": TRUE, "3": {"supported": "yes"}}, None, "unparsed"),
        ({"1": TRUE, "2": TRUE, "3": TRUE, "4": FALSE}, "PASS", None),
        (ChatReply('{"1": {"reason', "length"), None, "truncated"),
    ],
)
def test_a_claim_without_a_verdict_is_never_supported(verdicts, score, code):
    _, verdict = judge_one(claims(3), verdicts)
    assert (verdict.score, verdict.error and verdict.error.code) == (score, code)
