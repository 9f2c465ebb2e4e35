import pytest

from moonlynx.judge.backends.base import ChatReply
from moonlynx.judge.contract.types import JudgeError
from moonlynx.judge.judges.prompted.objects import (
    read_flag,
    read_object,
    read_text,
    read_texts,
    read_whole,
)

from ....cases import cases

ERROR = JudgeError(code="unparsed", message="no score")


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
