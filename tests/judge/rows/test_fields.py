import re
from pathlib import Path

import pytest
from tests.cases import cases

from moonlynx.judge.batch.metrics import read_input
from moonlynx.judge.contract.types import BadInput, Example, MetricInput, MoonlynxError
from moonlynx.judge.rows.archives import MAGIC
from moonlynx.judge.rows.fields import Cells, FieldMap, load_json, read_example
from moonlynx.judge.rows.formats import MAX_ROW, read_raw
from moonlynx.judge.rows.names import IGNORED, NAMES

OURS = Example(question="Q?", context=("one", "two"), answer="yes")
DOCS = ["one", "two"]


@pytest.mark.parametrize("case", cases(__file__, "read_as"), ids=lambda case: case["name"])
def test_rows_of_other_tools_are_read_as_they_are_or_as_mapped(case):
    row = Cells(case["row"]) if "cells" in case else case["row"]
    assert read_example(row, FieldMap.parse(case.get("map", ()))) == OURS


@pytest.mark.parametrize("case", cases(__file__, "unclear"), ids=lambda case: case["says"])
def test_what_is_not_clear_is_an_error_that_names_the_field(case):
    with pytest.raises(BadInput) as refused:
        read_example(case["row"])
    assert (refused.value.code, refused.value.field) == ("bad_input", case["field"])
    assert case["says"] in refused.value.message
    refused.value.message.encode()  # a verdict has to hold it


@pytest.mark.parametrize("field", NAMES)
def test_each_name_is_taken(field):
    for name in NAMES[field]:
        row = {"question": "Q?", "context": DOCS, "answer": "yes"}
        row[name] = row.pop(field)
        assert read_example(row) == OURS, name


@pytest.mark.parametrize(("pairs", "says"), cases(__file__, "no_mappings"))
def test_a_mapping_that_is_none_is_refused(pairs, says):
    with pytest.raises(MoonlynxError, match=re.escape(says)):
        FieldMap.parse(pairs)


def test_what_was_ignored_is_told_once_and_in_the_words_of_the_table():
    fields = FieldMap()
    for _ in range(3):
        read_example({"context": "c", "answer": "a", "Ground Truth": "b", "prompt": "c Q?"}, fields)
    assert sorted(fields.notes()) == [
        f"{name} was ignored: {IGNORED[name][1]}" for name in ("ground_truth", "prompt")
    ]
    mapped = FieldMap.parse(["question=prompt"])
    assert read_example({"context": "c", "answer": "a", "prompt": "Q?"}, mapped).question == "Q?"
    assert mapped.notes() == []


def test_metrics_read_the_same_names_and_a_mapped_one_that_is_not_there_is_an_error():
    row = {"user_input": "Q?", "response": "yes", "contexts": DOCS, "labels": ["x"]}
    wanted = MetricInput(input="Q?", output="yes", context=("one", "two"))
    assert read_input(row) == wanted
    fields = FieldMap.parse(["output=reply.text"], MetricInput)
    assert read_input({"input": "Q?", "context": DOCS, "reply": {"text": "yes"}}, fields) == wanted
    with pytest.raises(BadInput, match=r"input: is missing, and so is output.* found reply"):
        read_input({"reply": "yes"})
    row = {"context": "c", "answer": "a", "query": "Q?"}
    with pytest.raises(BadInput, match=r"question: there is no qeury in the row.* found context"):
        read_example(row, FieldMap.parse(["question=qeury"]))


@pytest.mark.parametrize(("cell", "documents"), cases(__file__, "cells"))
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


PAGE = (Path(__file__).parents[3] / "docs" / "input.md").read_text(encoding="utf-8")


def table(heading):
    body = PAGE.split(f"| {heading} |\n", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    return [line.strip("| ").split(" | ") for line in body]


def names(cell):
    return tuple(re.findall(r"`([^`]+)`", cell))


def test_the_names_are_those_that_are_taken_or_ignored():
    assert {names(field)[0]: names(cell) for field, cell in table("field | names")} == NAMES
    told = {name: why for cell, why in table("name | why") for name in names(cell)}
    assert told == {name: why for name, (_, why) in IGNORED.items()}


def test_the_mappings_can_be_given():
    shown = [mapping for _, mapping in table("export | mapping")]
    pairs = [re.findall(r"--map (\S+?)(?=[` ])", mapping) for mapping in shown]
    assert sum(map(len, pairs)) > 10
    for mapping in pairs:
        assert len(FieldMap.parse(mapping).paths) == len(mapping)


def test_the_endings_are_those_that_are_read(tmp_path):
    endings = [ending for cell, _ in table("ending | what") for ending in names(cell)]
    with pytest.raises(BadInput) as refused:
        list(read_raw(tmp_path.joinpath("a.xml").touch() or tmp_path / "a.xml"))
    known = refused.value.message
    assert sorted(re.findall(r"\.\w+", known)) == sorted([*endings, *MAGIC])
    assert all(f"`{ending}`" in PAGE for ending in MAGIC)
    assert f"{MAX_ROW >> 20} MiB" in PAGE
