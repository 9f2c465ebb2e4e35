import json

import pytest

from moonlynx.halubench.compare import compare
from moonlynx.halubench.records import Edited, QARow, write_parquet, write_rows
from moonlynx.halubench.stats import describe
from moonlynx.halubench.verify import VerifyError, verify
from moonlynx.judge.contract.types import BadInput

from ..cases import cases
from .made_data import ROWS


@pytest.fixture
def file(built):
    return built / "test.jsonl"


def problems(path, rows):
    write_rows(path, rows)
    with pytest.raises(VerifyError) as caught:
        verify(path)
    return str(caught.value)


def changed(rows, wanted, **fields):
    index = next(index for index, row in enumerate(rows) if wanted(row))
    changed = rows[index].model_copy(update=fields)
    return [*rows[:index], changed, *rows[index + 1 :]], rows[index].id


def is_made_wrong(row):
    return row.gold is not None


def test_a_file_is_in_order_or_its_broken_line_is_named(file, rows, tmp_path):
    assert verify(file).endswith("in order, as its manifest says")
    write_rows(tmp_path / "alone.jsonl", rows)
    assert verify(tmp_path / "alone.jsonl").endswith("without a manifest beside it")
    broken = tmp_path / "broken.jsonl"
    broken.write_text(file.read_text() + '{"id": "x"}\n')
    with pytest.raises(BadInput, match=f"line {ROWS + 1}, source"):
        verify(broken)
    broken.write_text("")
    with pytest.raises(VerifyError, match="the file holds no rows"):
        verify(broken)


@pytest.mark.parametrize(
    ("wanted", "fields", "message"),
    [
        (
            is_made_wrong,
            {"label": "PASS"},
            "is PASS, but its answer was perturbed or marked unsupported",
        ),
        (is_made_wrong, {"label": None}, "has no label"),
        (is_made_wrong, {"gold": None}, "is FAIL, but has no faithful answer"),
        (is_made_wrong, {"change": None}, "is FAIL, but has no faithful answer or no change"),
        (is_made_wrong, {"gold": "Another answer."}, "undone, do not restore the faithful answer"),
        (is_made_wrong, {"edits": (Edited(start=0, end=1, old="Q"),)}, "undone, do not restore"),
        (lambda row: row.annotation, {"label": "PASS"}, "perturbed or marked unsupported"),
        (lambda row: True, {"source": "squad"}, "source is 'squad', none of FinanceBench"),
        (lambda row: True, {"context": (" ",)}, "context or answer holds no text"),
    ],
)
def test_a_row_that_contradicts_itself_is_named(wanted, fields, message, rows, tmp_path):
    rows, name = changed(rows, wanted, **fields)
    found = problems(tmp_path / "rows.jsonl", rows)
    assert f"{name}: " in found
    assert message in found


def test_a_wrong_answer_that_is_the_right_one_is_named(rows, tmp_path):
    row = next(filter(is_made_wrong, rows))
    rows, name = changed(rows, is_made_wrong, answer=f" {row.gold}", edits=())
    found = problems(tmp_path / "rows.jsonl", rows)
    assert f"{name}: is FAIL, but its answer is the faithful one" in found


def test_twins_are_named(rows, tmp_path):
    right = next(row for row in rows if row.source == "DROP" and row.label == "PASS")
    made = next(row for row in rows if row.source == "DROP" and is_made_wrong(row))
    found = problems(tmp_path / "rows.jsonl", [*rows, right, made])
    assert f"{right.id}: 2 rows have this id" in found
    assert f"{right.id}: is the same row as {right.id}" in found
    published = next(row for row in rows if row.source == "RAGTruth" and row.label == "PASS")
    twin = published.model_copy(update={"id": "RAGTruth/twin"})
    write_rows(tmp_path / "twin.jsonl", [*rows, twin])
    assert verify(tmp_path / "twin.jsonl")  # two models may say the same
    twin = twin.model_copy(update={"label": "FAIL"})
    found = problems(tmp_path / "twin.jsonl", [*rows, twin])
    assert f"RAGTruth/twin: is FAIL, the same row {published.id} is PASS" in found


def test_lost_rows_are_named_and_stats_counted(file, rows):
    found = describe(file)
    assert "| DROP | 10 | 5 | 5 | 10 |" in found
    assert f"| all | {ROWS} | " in found
    kind = next(filter(is_made_wrong, rows)).kind
    assert f"| {kind} | " in found
    assert "rejected, in the whole build" in found
    lost = [row for row in rows if not (row.source == "DROP" and row.label == "PASS")]
    found = problems(file, lost)
    assert "DROP: 0 PASS and 5 FAIL, not half and half" in found
    assert "the file is not the one that the manifest names" in found
    assert "DROP: 0 PASS and 5 FAIL, but the manifest counts 5 and 5" in found


def released(rows):
    for row in rows:
        yield {
            "id": row.id,
            "passage": "\n\n".join(row.context) + "\n",
            "question": row.question,
            "answer": f" {row.answer}",
            "label": row.label,
            "source_ds": row.source,
        }


def write_released(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_what_differs_is_told_apart(file, rows, tmp_path):
    official = list(released(rows))
    drop = [index for index, row in enumerate(rows) if row.source == "DROP"]
    official[drop[0]]["label"] = {"PASS": "FAIL", "FAIL": "PASS"}[official[drop[0]]["label"]]
    official[drop[1]]["answer"] = "No one knows."
    official[drop[2]]["passage"] = "Another passage."
    official[drop[3]]["question"] = "Who knows?"
    found = compare(file, write_released(tmp_path / "official.jsonl", official))
    assert "| DROP | 10 | 6 | 1 | 1 | 1 | 1 | 1 |" in found


@pytest.mark.parametrize(("name", "content", "message"), cases(__file__, "not_released"))
def test_another_file_than_the_released_set_is_refused(name, content, message, file, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(BadInput, match=message):
        compare(file, tmp_path / name)


def test_parquet_holds_what_the_lines_hold(rows, tmp_path, file):
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    write_parquet(path, rows)
    assert [QARow.model_validate(row) for row in parquet.read_table(path).to_pylist()] == rows
    parquet.write_table(pa.Table.from_pylist(list(released(rows))), tmp_path / "official.parquet")
    assert f"| all | {ROWS} | {ROWS} | 0 |" in compare(file, tmp_path / "official.parquet")
