import pytest

from moonlynx.judge.contract.types import BadInput, Example
from moonlynx.judge.rows.examples import describe, read_rows
from moonlynx.judge.rows.fields import FieldMap
from moonlynx.serve.queue.turns import characters
from moonlynx.serve.ray.batch import by_tokens
from moonlynx.serve.ray.partitions import plan, read_partition

from .rows import write_rows


def read(rows):
    return [(row.line, row.id, str(row.example)) for row in rows]


def read_all(planned):
    return [row for one in planned.partitions for row in read(read_partition(planned.url, one))]


@pytest.mark.parametrize("size", [1, 7, 50, 1_000])
@pytest.mark.parametrize("scheme", ["", "file://"])
def test_the_partitions_of_lines_are_the_file(tmp_path, size, scheme):
    path = write_rows(tmp_path / "rows.jsonl", 50)
    planned = plan(f"{scheme}{path}", size)
    assert (planned.sha256, planned.rows) == describe(path)
    assert [one.number for one in planned.partitions] == list(range(-(-planned.rows // size)))
    assert {one.rows for one in planned.partitions[:-1]} <= {size}
    assert read_all(planned) == read(read_rows(path))
    assert plan(f"{scheme}{path}", size) == planned


@pytest.mark.parametrize("size", [1, 7, 64])
@pytest.mark.parametrize("group", [1, 10, 64])
def test_the_partitions_of_parquet_are_the_file(tmp_path, size, group):
    path = write_rows(tmp_path / "rows.parquet", 50, group)
    planned = plan(str(path), size)
    assert (planned.sha256, planned.rows) == describe(path)
    assert read_all(planned) == read(read_rows(path))


def test_a_partition_is_read_by_the_files_mapping(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"docs": ["c"], "reply": {"text": "a"}}\n' * 5)
    fields = FieldMap.parse(["context=docs", "answer=reply.text"])
    planned = plan(str(path), 2)
    rows = [row for one in planned.partitions for row in read_partition(planned.url, one, fields)]
    assert read(rows) == read(read_rows(path, fields))
    assert [row.example for row in rows] == [Example(context=("c",), answer="a")] * 5


def test_an_empty_file_has_no_partition_and_an_unknown_url_is_a_message(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n\n")
    assert plan(str(path), 5).partitions == ()
    with pytest.raises(BadInput, match="nowhere"):
        plan("nowhere://bucket/rows.jsonl", 5)


@pytest.mark.parametrize(
    ("name", "message"),
    [("rows.csv", "use .jsonl or .parquet"), ("rows.parquet", "is not a Parquet file")],
)
def test_another_kind_of_file_is_refused(tmp_path, name, message):
    path = tmp_path / name
    path.write_bytes(b"context,answer\n")
    with pytest.raises(BadInput, match=message):
        plan(str(path), 5)


def test_batches_keep_to_a_budget_of_tokens(tmp_path):
    rows = list(read_rows(write_rows(tmp_path / "rows.jsonl", 60)))
    cut = list(by_tokens(rows, 200))
    assert [row for batch in cut for row in batch] == rows
    assert len(cut) > 5
    for batch in cut:
        text = sum(0 if isinstance(r.example, BadInput) else characters(r.example) for r in batch)
        assert len(batch) == 1 or text <= 4 * 200
    assert {len(batch) for batch in by_tokens(rows[:4], 1)} == {1}
