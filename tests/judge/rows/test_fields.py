"""The field names of other tools' exports: taken, passed over, mapped, or named in the error."""

import re

import pytest

from moonlynx.judge.batch.metrics import read_input
from moonlynx.judge.contract.types import BadInput, Example, MetricInput, MoonlynxError
from moonlynx.judge.rows.fields import Cells, FieldMap, load_json, read_example
from moonlynx.judge.rows.names import NAMES, PASSED_OVER

OURS = Example(question="Q?", context=("one", "two"), answer="yes")
DOCS = ["one", "two"]


@pytest.mark.parametrize(
    "row",
    [
        {"user_input": "Q?", "retrieved_contexts": DOCS, "response": "yes", "reference": "no"},
        {"question": "Q?", "contexts": DOCS, "answer": "yes", "ground_truth": "no"},
        {"input": "Q?", "retrieval_context": DOCS, "actual_output": "yes", "context": None},
        {"input": "Q?", "retrievalContext": DOCS, "actualOutput": "yes", "expectedOutput": "no"},
        {"query": "Q?", "response": "yes", "context": DOCS, "rubric": {"a": 1}},
        {"Question": "Q?", "Documents": DOCS, "Answer": "yes"},
        {
            "user_input": "Q?",
            "retrieved_contexts": DOCS,
            "response": "yes",
            "reference_contexts": [],
        },
        {"question": "Q?", "input": "Q?", "passages": DOCS, "output": "yes", "answer": ""},
    ],
    ids=["ragas", "ragas-0.1", "deepeval", "confident", "azure", "sheet", "reference", "same"],
)
def test_rows_of_other_tools_are_read_as_they_are(row):
    assert read_example(row) == OURS


@pytest.mark.parametrize("field", NAMES)
def test_each_name_is_taken(field):
    for name in NAMES[field]:
        row = {"question": "Q?", "context": DOCS, "answer": "yes"}
        row[name] = row.pop(field)
        assert read_example(row) == OURS, name


@pytest.mark.parametrize(
    ("row", "field", "says"),
    [
        (
            {"context": ["ideal"], "retrieval_context": DOCS, "actual_output": "yes"},
            "context",
            "stands there twice, as context and retrieval_context; keep one, or give --map",
        ),
        ({"context": "c", "answer": "a", "Answer": "b"}, "answer", "as answer and Answer"),
        ({"contexts": DOCS, "expected_output": "yes"}, "answer", "--map answer=expected_output"),
        ({"contexts": DOCS, "anwser": "yes"}, "answer", "give --map answer=anwser"),
        ({"contexts": DOCS, "completion": "yes"}, "answer", "give --map answer=completion"),
        ({"contexts": DOCS, "foo": "yes"}, "answer", "found contexts, foo; give --map answer=NAME"),
        ({"input": "Q?", "output": "yes", "reference": "d"}, "context", "the documents in Phoenix"),
        (
            {"inputs": {"question": "Q?"}, "outputs": {"answer": "yes", "documents": DOCS}},
            "context",
            "give --map context=outputs.documents",
        ),
        (
            {
                "attributes.input.value": "Q?",
                "attributes.retrieval.documents": [{"document.content": "d"}],
            },
            "context",
            "give --map context=attributes.retrieval.documents.document.content",
        ),
        (
            {"context": "c", "response": {"tokenUsage": {}, "output": "yes"}},
            "answer",
            "response holds an object; name the text in it, as by --map answer=response.output",
        ),
        (
            {"documents": [{"metadata": {"source": "s"}, "page_content": "d"}], "answer": "a"},
            "context",
            "--map context=documents.page_content",
        ),
        ({"context": "c", "\ud800": "a"}, "answer", r"found context, \ud800"),
        ({}, "context", "every row needs 'context'"),
    ],
)
def test_what_is_not_clear_is_an_error_that_names_the_field(row, field, says):
    with pytest.raises(BadInput) as refused:
        read_example(row)
    assert (refused.value.code, refused.value.field) == ("bad_input", field)
    assert says in refused.value.message
    refused.value.message.encode()  # a verdict has to hold it


@pytest.mark.parametrize(
    ("pairs", "row"),
    [
        (["answer=reply"], {"question": "Q?", "context": DOCS, "reply": "yes"}),
        (
            ["question=inputs.question", "answer=outputs.answer", "context=outputs.documents.text"],
            {
                "inputs": {"question": "Q?"},
                "outputs": {"answer": "yes", "documents": [{"text": "one"}, {"text": "two"}]},
            },
        ),
        (
            [
                "question=attributes.input.value",
                "answer=attributes.output.value",
                "context=attributes.retrieval.documents.document.content",
            ],
            {
                "attributes.input.value": "Q?",
                "attributes.output.value": "yes",
                "attributes.retrieval.documents": [
                    {"document.content": "one", "document.score": 1.0},
                    {"document.content": "two"},
                ],
            },
        ),
        (
            ["question=vars.query", "context=vars.context", "answer=response.output"],
            {
                "vars": {"query": "Q?", "context": DOCS},
                "response": {"output": "yes"},
                "prompt": {"raw": "Q? one two"},
            },
        ),
        (
            ["context=retrieval_context"],
            {"input": "Q?", "context": ["ideal"], "retrieval_context": DOCS, "answer": "yes"},
        ),
        # A mapped name is not taken for another field as well.
        (["context=input"], {"query": "Q?", "input": DOCS, "answer": "yes"}),
        # A table's cell may hold JSON.
        (
            ["question=inputs.question", "context=outputs.docs", "answer=outputs.answer"],
            Cells(inputs='{"question": "Q?"}', outputs='{"docs": ["one", "two"], "answer": "yes"}'),
        ),
    ],
    ids=["flat", "langsmith", "phoenix", "promptfoo", "deepeval", "other-field", "cells"],
)
def test_a_mapping_reads_what_is_named_otherwise(pairs, row):
    assert read_example(row, FieldMap.parse(pairs)) == OURS


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        (["answer"], "--map answer: write FIELD=NAME"),
        (["answer="], "write FIELD=NAME"),
        (["reply=answer"], "there is no field 'reply'; use one of id, question, context, answer"),
        (["answer=a", "answer=b"], "answer is mapped twice"),
    ],
)
def test_a_mapping_that_is_none_is_refused(pairs, says):
    with pytest.raises(MoonlynxError, match=re.escape(says)):
        FieldMap.parse(pairs)


def test_a_mapped_name_that_is_not_there_is_an_error():
    row = {"context": "c", "answer": "a", "query": "Q?"}
    with pytest.raises(BadInput, match=r"question: there is no qeury in the row.* found context"):
        read_example(row, FieldMap.parse(["question=qeury"]))


def test_what_was_passed_over_is_told_once_and_in_the_words_of_the_table():
    fields = FieldMap()
    for _ in range(3):
        read_example({"context": "c", "answer": "a", "Ground Truth": "b", "prompt": "c Q?"}, fields)
    assert sorted(fields.notes()) == [
        f"{name} was passed over: {PASSED_OVER[name][1]}" for name in ("ground_truth", "prompt")
    ]
    mapped = FieldMap.parse(["question=prompt"])
    assert read_example({"context": "c", "answer": "a", "prompt": "Q?"}, mapped).question == "Q?"
    assert mapped.notes() == []


def test_metrics_read_the_same_names():
    row = {"user_input": "Q?", "response": "yes", "contexts": DOCS, "labels": ["x"]}
    wanted = MetricInput(input="Q?", output="yes", context=("one", "two"))
    assert read_input(row) == wanted
    fields = FieldMap.parse(["output=reply.text"], MetricInput)
    assert read_input({"input": "Q?", "context": DOCS, "reply": {"text": "yes"}}, fields) == wanted
    with pytest.raises(BadInput, match=r"input: is missing, and so is output.* found reply"):
        read_input({"reply": "yes"})


@pytest.mark.parametrize(
    ("cell", "documents"),
    [
        ('["one", "two"]', ("one", "two")),
        ("['one', \"it's\"]", ("one", "it's")),
        ("['one'\n 'two']", ("one", "two")),  # as numpy writes them
        ("[1] a footnote", ("[1] a footnote",)),
        ("[__import__('os')]", ("[__import__('os')]",)),
    ],
)
def test_a_cell_with_a_list_holds_several_documents(cell, documents):
    row = Cells(contexts=cell, answer="a", question="", label="", id="")
    assert read_example(row) == Example(context=documents, answer="a")


@pytest.mark.parametrize(
    ("text", "key"),
    [('{"answer": 1, "answer": 1}', "answer"), ('{"a": [{"b": 1, "b": 2}]}', "b")],
)
def test_a_key_that_stands_twice_is_named(text, key):
    with pytest.raises(BadInput, match=f"has the key '{key}' twice"):
        load_json(text)
