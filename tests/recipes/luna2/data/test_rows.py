import json

import pytest

from moonlynx.judge.contract.types import BadInput
from moonlynx.judge.metrics.definition import load_definition
from moonlynx.recipes.luna2.data import read_rows

GOOD = {"input": "Hello", "output": "Go away", "labels": ["true"]}


def write(tmp_path, *rows):
    path = tmp_path / "mine.jsonl"
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_rows_are_read_with_their_group_and_source(tmp_path):
    path = write(tmp_path, GOOD | {"group": "g", "source": "s"}, "", GOOD)
    first, second = read_rows(path, load_definition("toxicity"))
    assert (first.group, first.source, first.labels) == ("g", "s", {"true"})
    assert first.input.output == "Go away"
    assert second.source == "mine"
    assert second.group != first.group


@pytest.mark.parametrize("labels", [True, "true", ["true"], [True]])
def test_a_boolean_label_may_be_written_as_json_has_it(tmp_path, labels):
    (row,) = read_rows(write(tmp_path, GOOD | {"labels": labels}), load_definition("toxicity"))
    assert row.labels == {"true"}


def test_a_multi_label_row_takes_none_or_several(tmp_path):
    path = write(tmp_path, GOOD | {"labels": []}, GOOD | {"labels": ["email", "phone"]})
    assert [row.labels for row in read_rows(path, load_definition("pii"))] == [
        set(),
        {"email", "phone"},
    ]


@pytest.mark.parametrize(
    ("metric", "row", "named"),
    [
        ("toxicity", {"input": "a", "labels": ["true"]}, "output"),
        ("toxicity", {"input": 1, "output": "b", "labels": ["true"]}, "input"),
        ("toxicity", {"input": "a", "output": "b"}, "labels"),
        ("toxicity", GOOD | {"labels": ["maybe"]}, "labels: 'maybe'"),
        ("toxicity", GOOD | {"labels": ["true", "false"]}, "labels"),
        ("toxicity", GOOD | {"labels": [["true"]]}, "labels"),
        ("toxicity", GOOD | {"labels": {"true": 1}}, "labels"),
        ("tone", GOOD | {"labels": []}, "labels"),
        ("toxicity", GOOD | {"group": 3}, "group"),
        ("toxicity", GOOD | {"source": ""}, "source"),
        ("toxicity", GOOD | {"outputs": "b"}, "outputs"),
        ("toxicity", GOOD | {"tools": "hammer"}, "tools"),
        ("toxicity", "[1, 2]", "row"),
        ("toxicity", "{", "Invalid JSON"),
    ],
)
def test_a_bad_row_is_named_by_line_and_field(tmp_path, metric, row, named):
    path = write(tmp_path, GOOD | {"labels": "joy"} if metric == "tone" else GOOD, row)
    with pytest.raises(BadInput, match=rf"mine.jsonl(, line |:)2, .*{named}"):
        read_rows(path, load_definition(metric))


def test_a_file_without_rows_is_refused(tmp_path):
    with pytest.raises(BadInput, match="has no rows"):
        read_rows(write(tmp_path, ""), load_definition("toxicity"))
