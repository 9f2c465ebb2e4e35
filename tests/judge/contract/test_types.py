import contextlib
import json
import math

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from moonlynx.judge.contract.schemas import load_schema
from moonlynx.judge.contract.types import (
    ERROR_CODES,
    BadInput,
    Evidence,
    Example,
    JudgeError,
    JudgeInfo,
    MetricInput,
    MetricVerdict,
    Sentence,
    Span,
    Stage,
    Turn,
    Unscored,
    Usage,
    Verdict,
)

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


def span(**fields):
    return {"start": 0, "end": 2, "text": "It"} | fields


def verdict(**fields):
    return {"score": "PASS", "judge": JUDGE} | fields


@pytest.mark.fuzz
@given(examples() | verdicts() | metric_inputs | metric_verdicts())
def test_records_go_through_json_and_come_back_equal(record):
    kind = type(record)
    text = record.model_dump_json()
    assert kind.model_validate_json(text) == record
    assert kind.model_validate(json.loads(text)) == record
    assert kind.model_validate_json(text).model_dump_json() == text


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


def test_blank_documents_are_kept_beside_one_with_text():
    assert Example.from_row(row(context=["", " ", "text"])).context == ("", " ", "text")


@pytest.mark.parametrize("example_id", ["a", "", 7, -1, 2**80])
def test_ids_keep_their_kind(example_id):
    example = Example.from_row(row(id=example_id))
    assert example.id == example_id
    assert type(example.id) is type(example_id)


# What is wrong with a row: the row, then the code, the field named, and a part of the message.
BAD_ROWS = {
    "no context": ({"answer": "a"}, "bad_input", "context", "missing"),
    "no answer": ({"context": "c"}, "bad_input", "answer", "missing"),
    "null context": (row(context=None), "bad_input", "context", "NoneType"),
    "empty context": (row(context=[]), "empty_context", "context", "at least one document"),
    "empty document": (row(context=""), "empty_context", "context", "at least one document"),
    "blank documents": (row(context=[" ", "\n\u2003"]), "empty_context", "context", "blank"),
    "context a number": (row(context=7), "bad_input", "context", "int"),
    "context an object": (row(context={"text": "c"}), "bad_input", "context", "dict"),
    "context bytes": (row(context=b"c"), "bad_input", "context", "bytes"),
    "a document a number": (row(context=["c", 7]), "bad_input", "context.1", "string, got int"),
    "a document null": (row(context=[None]), "bad_input", "context.0", "NoneType"),
    "a document an object": (row(context=[{"text": "c"}]), "bad_input", "context.0", "dict"),
    "null answer": (row(answer=None), "bad_input", "answer", "NoneType"),
    "empty answer": (row(answer=""), "empty_answer", "answer", "no text"),
    "blank answer": (row(answer=" \t\n"), "empty_answer", "answer", "no text"),
    "answer a number": (row(answer=30), "bad_input", "answer", "string, got int"),
    "answer a list": (row(answer=["a"]), "bad_input", "answer", "string, got list"),
    "answer bytes": (row(answer=b"a"), "bad_input", "answer", "string, got bytes"),
    "null question": (row(question=None), "bad_input", "question", "NoneType"),
    "id a float": (row(id=1.5), "bad_input", "id", "got float"),
    "id a boolean": (row(id=True), "bad_input", "id", "got bool"),
    "unknown field": (row(contexts=["c"]), "bad_input", "contexts", "the fields are id, question"),
    "field not a string": (row() | {1: 2}, "bad_input", "1", "strings"),
    "label in lower case": (row(label="pass"), "bad_input", "label", "'PASS' or 'FAIL'"),
    "label a boolean": (row(label=True), "bad_input", "label", "'PASS' or 'FAIL'"),
    "samples a string": (row(samples="s"), "bad_input", "samples", "must be a list, got str"),
    "a sample a number": (row(samples=["s", 1]), "bad_input", "samples.1", "string, got int"),
    "a turn a string": (row(conversation=["hi"]), "bad_input", "conversation.0", "got str"),
    "a turn without content": (
        row(conversation=[{"role": "user"}]),
        "bad_input",
        "conversation.0.content",
        "missing",
    ),
    "a turn of nobody": (
        row(conversation=[{"role": "bot", "content": "hi"}]),
        "bad_input",
        "conversation.0.role",
        "'system', 'user' or 'assistant'",
    ),
    "a span elsewhere": (row(spans=[span(text="is")]), "bad_input", "spans", "answer[0:2]"),
    "a span past the end": (
        row(spans=[span(start=9, end=11, text=".!")]),
        "bad_input",
        "spans",
        "answer[9:11]",
    ),
    "a span of another length": (
        row(spans=[span(end=5)]),
        "bad_input",
        "spans.0",
        "2 characters, but start and end are 5 apart",
    ),
    "an empty span": (
        row(spans=[span(end=0, text="")]),
        "bad_input",
        "spans.0",
        "end must be greater than start",
    ),
    "a span backwards": (row(spans=[span(start=2, end=0)]), "bad_input", "spans.0", "greater"),
    "a span before the start": (row(spans=[span(start=-2)]), "bad_input", "spans.0.start", "0"),
    "an offset a float": (row(spans=[span(end=2.0)]), "bad_input", "spans.0.end", "float"),
    "an offset a boolean": (row(spans=[span(start=False)]), "bad_input", "spans.0.start", "bool"),
    "probability NaN": (
        row(spans=[span(probability=math.nan)]),
        "bad_input",
        "spans.0.probability",
        "finite",
    ),
    "probability infinite": (
        row(spans=[span(probability=math.inf)]),
        "bad_input",
        "spans.0.probability",
        "finite",
    ),
    "probability over 1": (
        row(spans=[span(probability=1.01)]),
        "bad_input",
        "spans.0.probability",
        "less than or equal to 1",
    ),
    "probability below 0": (
        row(spans=[span(probability=-0.01)]),
        "bad_input",
        "spans.0.probability",
        "greater than or equal to 0",
    ),
    "probability a string": (
        row(spans=[span(probability="0.5")]),
        "bad_input",
        "spans.0.probability",
        "number, got str",
    ),
    "not an object": (["c", "a"], "bad_input", "row", "list"),
    "nothing": (None, "bad_input", "row", "NoneType"),
}


@pytest.mark.parametrize(("bad", "code", "field", "part"), BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_a_bad_row_is_refused_by_name(bad, code, field, part):
    with pytest.raises(BadInput) as caught:
        Example.from_row(bad)
    assert caught.value.code == code
    assert caught.value.code in ERROR_CODES
    assert caught.value.field == field
    assert part in caught.value.message
    assert str(caught.value) == f"{field}: {caught.value.message}"


SURROGATE = "text \udc80"


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        (Example, row(id=SURROGATE)),
        (Example, row(question=SURROGATE)),
        (Example, row(context=SURROGATE)),
        (Example, row(context=["c", SURROGATE])),
        (Example, row(answer=SURROGATE)),
        (Example, row(conversation=[{"role": "user", "content": SURROGATE}])),
        (Example, row(samples=[SURROGATE])),
        (Example, row(source=SURROGATE)),
        (Example, row(answer=SURROGATE, spans=[{"start": 5, "end": 6, "text": "\udc80"}])),
        (Verdict, verdict(id=SURROGATE)),
        (Verdict, verdict(reasoning=[SURROGATE])),
        (Verdict, verdict(judge={"name": SURROGATE, "version": "1"})),
        (Verdict, verdict(judge={"name": "j", "version": SURROGATE})),
        (Verdict, verdict(stages=[{"judge": SURROGATE, "score": None, "decided": False}])),
        (Verdict, verdict(spans=[{"start": 0, "end": 6, "text": SURROGATE}])),
        (Verdict, verdict(score=None, error={"code": "backend", "message": SURROGATE})),
        (MetricInput, {"input": SURROGATE, "output": "o"}),
        (MetricInput, {"input": "i", "output": SURROGATE}),
        (MetricInput, {"input": "i", "output": "o", "tools": [{"name": SURROGATE}]}),
        (MetricInput, {"input": "i", "output": "o", "tools": [{SURROGATE: 1}]}),
        (MetricInput, {"input": "i", "output": "o", "trace": [{"a": [{"b": SURROGATE}]}]}),
        (MetricVerdict, {"metric": SURROGATE, "labels": {"yes": 0.5}}),
        (MetricVerdict, {"metric": "m", "labels": {SURROGATE: 0.5}}),
    ],
)
def test_lone_surrogates_are_refused_everywhere(record, fields):
    with pytest.raises(ValidationError, match="surrogate"):
        record.model_validate(fields)


def test_a_lone_surrogate_is_refused_with_its_place():
    with pytest.raises(BadInput) as caught:
        Example.from_row(row(context=["c", SURROGATE]))
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


@pytest.mark.parametrize(
    ("record", "fields", "where"),
    [
        (Verdict, verdict(score="MAYBE"), "score"),
        (Verdict, verdict(probability=1.5), "probability"),
        (Verdict, verdict(probability=math.nan), "probability"),
        (Verdict, verdict(probability="0.5"), "probability"),
        (Verdict, verdict(probability=True), "probability"),
        (Verdict, verdict(raw_score=math.inf), "raw_score"),
        (Verdict, verdict(raw_score=math.nan), "raw_score"),
        (Verdict, verdict(raw_score="1"), "raw_score"),
        (Verdict, verdict(seconds=0.1), "seconds"),
        (Verdict, verdict(schema_version="0.9"), "schema_version"),
        (Verdict, verdict(usage={"calls": -1}), "usage.calls"),
        (Verdict, verdict(usage={"calls": 1.0}), "usage.calls"),
        (Verdict, verdict(reasoning="a bullet"), "reasoning"),
        (Verdict, {"score": "PASS"}, "judge"),
        (Verdict, {"judge": JUDGE}, "score"),
        (Sentence, {"start": 0, "end": 1, "label": "TRUE"}, "label"),
        (Sentence, {"start": 0, "end": 1, "label": "NO_INFO", "raw_score": -math.inf}, "raw_score"),
        (Evidence, {"document": -1, "start": 0, "end": 1, "relation": "support"}, "document"),
        (Evidence, {"document": 0, "start": 0, "end": 1, "relation": "none"}, "relation"),
        (JudgeError, {"code": "other", "message": "m"}, "code"),
        (Stage, {"judge": "j", "score": "PASS", "decided": "yes"}, "decided"),
        (MetricVerdict, {"metric": "m", "labels": {"yes": 1.1}}, "labels.yes"),
        (MetricVerdict, {"metric": "m", "labels": {"yes": math.nan}}, "labels.yes"),
        (MetricInput, {"input": "i", "output": "o", "tools": [{"a": math.nan}]}, "tools.0"),
        (MetricInput, {"input": "i", "output": "o", "trace": [{"a": object()}]}, "trace.0.a"),
        (MetricInput, {"input": "i", "output": "o", "context": {"c"}}, "context"),
    ],
)
def test_bad_fields_of_results_are_refused_by_name(record, fields, where):
    with pytest.raises(ValidationError) as caught:
        record.model_validate(fields)
    assert where in {".".join(map(str, fault["loc"])) for fault in caught.value.errors()}


def test_a_verdict_has_a_score_or_an_error():
    Verdict(score=None, judge=JUDGE, error=ERROR)
    for score, error in (("PASS", ERROR), ("FAIL", ERROR), (None, None)):
        with pytest.raises(ValidationError, match="never both or neither"):
            Verdict(score=score, judge=JUDGE, error=error)


def test_a_metric_verdict_has_labels_or_an_error():
    MetricVerdict(metric="m", labels={"yes": 1}, error=None)
    MetricVerdict(metric="m", error=ERROR)
    for labels, error in (({"yes": 0.5}, ERROR), ({}, None)):
        with pytest.raises(ValidationError, match="never both or neither"):
            MetricVerdict(metric="m", labels=labels, error=error)


RECORDS = [
    (Example.from_row(row()), "answer", "b"),
    (Span(**span()), "text", "is"),
    (Turn(role="user", content="hi"), "content", "ho"),
    (Verdict(score="PASS", judge=JUDGE), "score", "FAIL"),
    (Sentence(start=0, end=1, label="NO_INFO"), "label", "SUPPORTED"),
    (Evidence(document=0, start=0, end=1, relation="support"), "document", 1),
    (Usage(), "calls", 1),
    (ERROR, "code", "backend"),
    (JUDGE, "name", "k"),
    (Stage(judge="j", score=None, decided=False), "decided", True),
    (MetricInput(input="i", output="o"), "input", "j"),
    (MetricVerdict(metric="m", labels={"yes": 0.5}), "metric", "n"),
]


@pytest.mark.parametrize(
    ("record", "field", "value"), RECORDS, ids=[type(record).__name__ for record, _, _ in RECORDS]
)
def test_records_are_frozen_and_closed(record, field, value):
    before = record.model_dump_json()
    with pytest.raises(ValidationError, match="frozen"):
        setattr(record, field, value)
    with pytest.raises(ValidationError, match="Extra inputs"):
        type(record).model_validate(record.model_dump() | {"unknown": 1})
    assert record.model_dump_json() == before


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
