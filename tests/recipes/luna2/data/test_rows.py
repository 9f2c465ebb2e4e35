import json

import pytest

from moonlynx.judge.contract.types import BadInput
from moonlynx.judge.metrics.definition import load_definition
from moonlynx.recipes.luna2.data import read_rows

from ....cases import cases

GOOD = {"input": "Hello", "output": "Go away", "labels": ["true"]}


def write(tmp_path, *rows):
    path = tmp_path / "mine.jsonl"
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_rows_are_read_with_their_group_source_and_labels(tmp_path):
    path = write(tmp_path, GOOD | {"group": "g", "source": "s"}, "", GOOD)
    first, second = read_rows(path, load_definition("toxicity"))
    assert (first.group, first.source, first.labels) == ("g", "s", {"true"})
    assert first.input.output == "Go away"
    assert second.source == "mine"
    assert second.group != first.group
    path = write(tmp_path, GOOD | {"labels": []}, GOOD | {"labels": ["email", "phone"]})
    assert [row.labels for row in read_rows(path, load_definition("pii"))] == [
        set(),
        {"email", "phone"},
    ]
    with pytest.raises(BadInput, match="has no rows"):
        read_rows(write(tmp_path, ""), load_definition("toxicity"))


@pytest.mark.parametrize("labels", [True, "true", ["true"], [True]])
def test_a_boolean_label_may_be_written_as_json_has_it(tmp_path, labels):
    (row,) = read_rows(write(tmp_path, GOOD | {"labels": labels}), load_definition("toxicity"))
    assert row.labels == {"true"}


@pytest.mark.parametrize(("metric", "row", "named"), cases(__file__, "bad_rows"))
def test_a_bad_row_is_named_by_line_and_field(tmp_path, metric, row, named):
    path = write(tmp_path, GOOD | {"labels": "joy"} if metric == "tone" else GOOD, row)
    with pytest.raises(BadInput, match=rf"mine.jsonl(, line |:)2, .*{named}"):
        read_rows(path, load_definition(metric))
