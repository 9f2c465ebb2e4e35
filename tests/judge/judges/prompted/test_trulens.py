import pytest

from moonlynx.judge.judges.prompted.trulens import TruLens, locate
from moonlynx.judge.judges.talk import PromptedJudge

from ....cases import cases
from .scripted import EXAMPLE, Scripted, section


def judge_one(replies):
    backend = Scripted(lambda request: replies[section(request, "STATEMENT")])
    (verdict,) = PromptedJudge(backend, TruLens("m"))([EXAMPLE])
    return verdict


def test_each_sentence_is_scored_with_its_evidence():
    verdict = judge_one(
        {
            "It was built in 1894.": {"evidence": "built in 1894", "score": 10},
            "It is made of tin.": {"evidence": "", "score": 1},
        }
    )
    assert [s.label for s in verdict.sentences] == ["NO_INFO", "SUPPORTED", "UNSUPPORTED"]
    assert [s.raw_score for s in verdict.sentences] == [None, 0.0, 1.0]
    assert (verdict.score, verdict.raw_score, verdict.usage.calls) == ("FAIL", 1.0, 2)
    (evidence,) = verdict.sentences[1].evidence
    assert EXAMPLE.context[evidence.document][evidence.start : evidence.end] == "built in 1894"


@pytest.mark.parametrize(("score", "label"), [(6, "SUPPORTED"), (5, "UNSUPPORTED")])
def test_half_the_scale_is_the_threshold(score, label):
    reply = {"evidence": "not in there", "score": score}
    verdict = judge_one(dict.fromkeys(["It was built in 1894.", "It is made of tin."], reply))
    assert {s.label for s in verdict.sentences} == {"NO_INFO", label}
    assert all(s.evidence == () for s in verdict.sentences)


@pytest.mark.parametrize("score", [0, 11, 5.5, "7", None, True])
def test_no_score_is_not_support(score):
    fine = {"evidence": "", "score": 10}
    odd = {"evidence": "", "score": score}
    verdict = judge_one({"It was built in 1894.": fine, "It is made of tin.": odd})
    assert (verdict.score, verdict.error.code) == (None, "unparsed")


@pytest.mark.parametrize(("quote", "place"), cases(__file__, "quotes"))
def test_a_quote_is_found_where_it_stands(quote, place):
    found = locate(quote, ("One two", "three four", "a+b aXb"))
    assert (found and [found.document, found.start, found.end]) == place
