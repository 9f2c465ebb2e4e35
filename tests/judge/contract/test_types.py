import contextlib
import json

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from moonlynx.judge.contract import types
from moonlynx.judge.contract.schemas import load_schema
from moonlynx.judge.contract.types import (
    ERROR_CODES,
    BadInput,
    Example,
    JudgeError,
    JudgeInfo,
    MetricInput,
    MetricVerdict,
    Record,
    Unscored,
    Usage,
    Verdict,
)

from ...cases import cases
from ...strategies import (
    any_strings,
    examples,
    judge_infos,
    metric_inputs,
    metric_verdicts,
    texts,
    tuples_of,
    verdicts,
)

JUDGE = JudgeInfo(name="j", version="1")
ERROR = JudgeError(code="timeout", message="no reply in 60 s")


def row(**fields):
    return {"context": ["The fee is $30."], "answer": "It is $30."} | fields


@pytest.mark.fuzz
@given(examples() | verdicts() | metric_inputs | metric_verdicts())
def test_records_go_through_json_and_come_back_equal(record):
    kind = type(record)
    text = record.model_dump_json()
    assert kind.model_validate_json(text) == record
    assert kind.model_validate(json.loads(text)) == record
    assert kind.model_validate_json(text).model_dump_json() == text


def test_a_verdict_of_schema_1_0_is_read_and_written_again_as_1_0():
    written = (
        '{"schema_version":"1.0","id":1,"score":"FAIL","probability":0.74,"raw_score":0.9,'
        '"reasoning":["r"],"spans":[{"start":0,"end":1,"text":"a","probability":null}],'
        '"sentences":[{"start":0,"end":9,"label":"UNSUPPORTED","probability":null,'
        '"raw_score":0.9,"evidence":[]}],"judge":{"name":"luna","version":"1"},"stages":[],'
        '"usage":{"calls":0,"input_tokens":19,"output_tokens":0,"windows":1},"error":null}'
    )
    verdict = Verdict.model_validate_json(written)
    assert (verdict.schema_version, verdict.faithfulness, verdict.citations) == ("1.0", None, None)
    assert verdict.sentences[0].kind is None
    again = json.loads(verdict.model_dump_json())
    (sentence,) = again["sentences"]
    assert [again.pop("faithfulness"), again.pop("citations"), sentence.pop("kind")] == [None] * 3
    assert again == json.loads(written)


@pytest.mark.parametrize(
    ("document", "status"), [(None, None), (None, "supported"), (0, "dangling")]
)
def test_a_citation_dangles_if_and_only_if_it_has_no_document(document, status):
    with pytest.raises(ValidationError, match="dangling"):
        types.Citation(start=0, end=3, document=document, status=status)


@pytest.mark.fuzz
@given(examples())
def test_a_row_of_an_example_is_that_example(example):
    assert Example.from_row(example.model_dump(mode="json")) == example


def test_a_minimal_row_has_defaults_and_one_string_is_one_document():
    example = Example.from_row({"context": "The fee is $30.", "answer": "It is $30."})
    assert example.context == ("The fee is $30.",)
    assert example.question == ""
    assert example.conversation == example.samples == ()
    assert example.id is example.label is example.spans is example.source is None


BAD_ROWS = [
    *cases(__file__, "bad_rows"),
    *(
        {"name": f"{field} bytes", "row": row(**{field: b"c"}), "field": field, "says": "bytes"}
        for field in ("context", "answer")
    ),
    {"name": "field not a string", "row": row() | {1: 2}, "field": "1", "says": "strings"},
]


@pytest.mark.parametrize("case", BAD_ROWS, ids=lambda case: case["name"])
def test_a_bad_row_is_refused_by_name(case):
    with pytest.raises(BadInput) as caught:
        Example.from_row(case["row"])
    assert (caught.value.code, caught.value.field) == (case.get("code", "bad_input"), case["field"])
    assert case["says"] in caught.value.message
    assert str(caught.value) == f"{case['field']}: {caught.value.message}"


@pytest.mark.parametrize("case", cases(__file__, "bad_fields"), ids=json.dumps)
def test_bad_fields_are_refused_by_name_and_lone_surrogates_everywhere(case):
    with pytest.raises(ValidationError) as caught:
        getattr(types, case["record"]).model_validate(case["fields"])
    found = {".".join(map(str, fault["loc"])): fault["msg"] for fault in caught.value.errors()}
    if "where" in case:
        assert case["where"] in found
    else:
        assert any(case["says"] in message for message in found.values())


@pytest.mark.parametrize("fields", [{"trace": [{"a": object()}]}, {"context": {"c"}}])
def test_what_json_cannot_hold_is_refused(fields):
    with pytest.raises(ValidationError):
        MetricInput.model_validate({"input": "i", "output": "o"} | fields)


def test_a_lone_surrogate_is_refused_with_its_place():
    with pytest.raises(BadInput) as caught:
        Example.from_row(row(context=["c", "text \udc80"]))
    assert caught.value.field == "context.1"
    assert "position 5" in caught.value.message
    str(caught.value).encode("utf-8")


@pytest.mark.fuzz
@given(any_strings, any_strings, any_strings)
def test_no_row_of_strings_passes_that_a_file_cannot_hold(question, context, answer):
    example = None
    with contextlib.suppress(BadInput):
        example = Example.from_row({"question": question, "context": context, "answer": answer})
    holdable = all(_is_utf8(text) for text in (question, context, answer))
    assert (example is not None) == bool(holdable and context.strip() and answer.strip())
    if example is not None:
        assert (example.question, example.context, example.answer) == (question, (context,), answer)
        example.model_dump_json().encode("utf-8")


def _is_utf8(text):
    return not any("\ud800" <= character <= "\udfff" for character in text)


def test_a_verdict_has_a_score_or_labels_or_an_error():
    Verdict(score=None, judge=JUDGE, error=ERROR)
    for score, error in (("PASS", ERROR), ("FAIL", ERROR), (None, None)):
        with pytest.raises(ValidationError, match="never both or neither"):
            Verdict(score=score, judge=JUDGE, error=error)
    MetricVerdict(metric="m", labels={"yes": 1}, error=None)
    MetricVerdict(metric="m", error=ERROR)
    for labels, error in (({"yes": 0.5}, ERROR), ({}, None)):
        with pytest.raises(ValidationError, match="never both or neither"):
            MetricVerdict(metric="m", labels=labels, error=error)


def test_records_are_frozen_and_closed():
    kinds = [kind for kind in Record.__subclasses__() if kind.__module__ == Record.__module__]
    assert {Example, Verdict, MetricInput, MetricVerdict, Usage} <= set(kinds)
    assert {(kind.model_config["frozen"], kind.model_config["extra"]) for kind in kinds} == {
        (True, "forbid")
    }
    record = Verdict(score="PASS", judge=JUDGE)
    with pytest.raises(ValidationError, match="frozen"):
        record.score = "FAIL"
    with pytest.raises(ValidationError, match="Extra inputs"):
        Verdict.model_validate(record.model_dump() | {"unknown": 1})


@pytest.mark.fuzz
@given(tuples_of(texts), judge_infos)
def test_to_lynx_gives_lynx_output(reasoning, judge):
    lynx = Draft202012Validator(load_schema("lynx"))
    for score in ("PASS", "FAIL"):
        output = Verdict(score=score, reasoning=reasoning, judge=judge).to_lynx()
        lynx.validate(output)
        assert output == {"REASONING": list(reasoning), "SCORE": score}


@pytest.mark.parametrize("code", ERROR_CODES)
def test_to_lynx_raises_on_an_unscored_verdict(code):
    unscored = Verdict(score=None, judge=JUDGE, error=JudgeError(code=code, message="why"))
    with pytest.raises(Unscored, match=rf"unscored \({code}\): why") as caught:
        unscored.to_lynx()
    assert caught.value.error == unscored.error
