import pytest

from moonlynx.judge.backends.base import ChatReply
from moonlynx.judge.contract.types import Example, JudgeError, JudgeInfo
from moonlynx.judge.judges.findings import Finding, mean_of, to_verdict
from moonlynx.judge.judges.prompted.objects import (
    read_flag,
    read_object,
    read_text,
    read_texts,
    read_whole,
)
from moonlynx.judge.text import split_sentences

from ....cases import cases

ERROR = JudgeError(code="unparsed", message="no score")
TRUNCATED = JudgeError(code="truncated", message="cut")
JUDGE = JudgeInfo(name="m", version="1")


def read(text, finish="stop"):
    return read_object(ChatReply(text, finish))


@pytest.mark.parametrize(
    "text",
    ['{"a": true}', ' \n{"a":\ttrue}\n', '```json\n{"a": true}\n```', '```\n{"a": true}```\n'],
)
def test_an_object_is_read(text):
    assert read(text) == {"a": True}


@pytest.mark.parametrize("text", [*cases(__file__, "unparsed"), "[" * 100_000])
def test_all_else_is_unparsed(text):
    assert read(text).code == "unparsed"


def test_faults_of_the_backend_come_before_a_key_given_twice():
    assert read('{"a": true, "a": false}').code == "contradictory"
    assert read('{"b": {"a": 1, "a": 1}}').code == "contradictory"
    assert read('{"a": true}', "length").code == "truncated"
    assert read('{"a": true}', "refused").code == "refused"
    assert read_object(ChatReply("", "error", error=ERROR)) == ERROR


def test_values_are_of_the_kind_asked_for_or_missing():
    value = read('{"flag": false, "one": 1, "half": 1.5, "text": "x\\ud800", "texts": ["a\\nb"]}')
    assert read_flag(value, "flag") is False
    assert read_whole(value, "one", 1, 10) == 1
    assert read_text(value, "text") == "x\ufffd"
    assert read_texts(value, "texts") == ["a b"]
    missing = [read_flag(value, "one"), read_flag(value, "none"), read_text(value, "flag")]
    missing += [read_whole(value, "half", 1, 10), read_whole(value, "one", 2, 10)]
    missing += [read_whole(value, "flag", 0, 10), read_texts(value, "text")]
    assert {one.code for one in missing} == {"unparsed"}


@pytest.mark.parametrize(
    ("scores", "mean"),
    [
        ([0.0, 1.0], 0.5),
        ([1.0, ERROR], 0.5),  # it stands whatever the other would have been
        ([1.0, 0.0, ERROR], ERROR),
        ([0.0, 0.0, ERROR], ERROR),  # never taken for support
        ([ERROR, TRUNCATED], ERROR),
        ([TRUNCATED, ERROR, 0.0], TRUNCATED),
    ],
)
def test_the_mean_of_scores_of_which_some_are_missing(scores, mean):
    assert mean_of(scores, 0.5) == mean


EXAMPLE = Example(context="x", answer="Tin is red. Tin is blue. Tin is old.")
PIECES = split_sentences(EXAMPLE.answer)


def verdict(*scores):
    return to_verdict(EXAMPLE, JUDGE, list(map(Finding, PIECES, scores)), 0.5)


def test_a_sentence_without_a_score_leaves_the_answer_unscored_unless_another_is_unsupported():
    for scores in ((0.0, ERROR, 0.0), (None, ERROR, None), (ERROR, ERROR, ERROR)):
        found = verdict(*scores)
        assert (found.score, found.error.code, found.sentences) == (None, "unparsed", ())
    assert verdict(0.0, TRUNCATED, ERROR).error.code == "truncated"
    assert "the sentence at 12" in verdict(0.0, TRUNCATED, ERROR).error.message
    found = verdict(ERROR, 0.9, 0.1)
    assert (found.score, found.raw_score, found.error) == ("FAIL", 0.9, None)
    assert [sentence.label for sentence in found.sentences] == ["UNSUPPORTED", "SUPPORTED"]
    assert found.reasoning[-1] == "UNSCORED: “Tin is red.” no score."
