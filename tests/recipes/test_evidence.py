"""Evidence is held against the rows of a table that an answer was written from."""

import gzip
import json

import pytest

from moonlynx.judge.registry import load_judge
from moonlynx.recipes.luna.evidence import measure_evidence, read_marked
from moonlynx.recipes.luna.exclusions import DataNotFound

from ..labelled_data import DATA, needs_data

TABLE = [
    ["place", "year", "guests"],
    ["Aldby", "1901", "120"],
    ["Norrvik", "1932", "340"],
    ["Sundby", "1950", "77"],
    ["Oxfall", "1988", "910"],
]
ROW = {
    "question": "How many guests came to Norrvik?",
    "answer": "Norrvik had 340 guests in 1932.",
    "table_array": TABLE,
    "highlighted_cell_ids": [[2, 0], [2, 2]],
}


def write(root, *rows):
    folder = root / "fetaqa"
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "fetaQA-v1_dev.jsonl").write_text(text)
    (folder / "fetaQA-v1_test.jsonl.gz").write_bytes(gzip.compress(b""))


def test_the_marked_rows_are_those_of_the_table(tmp_path):
    short = ROW | {"table_array": TABLE[:3]}
    unmarked = ROW | {"highlighted_cell_ids": [[0, 1]]}
    write(tmp_path, ROW, short, unmarked)
    (one,) = read_marked(tmp_path)
    assert len(one.rows) == len(TABLE) - 1
    (marked,) = one.marked
    start, end = one.rows[marked]
    assert one.example.context[0][start:end] == "| Norrvik | 1932 | 340 |"


def test_evidence_in_the_marked_row_counts(tmp_path):
    wrong_rows = ROW | {"highlighted_cell_ids": [[4, 0]]}
    write(tmp_path, ROW, wrong_rows)
    right, wrong = read_marked(tmp_path)
    judge = load_judge("token-similarity")
    found = measure_evidence(judge, [right])
    assert (found.answers, found.supported, found.hit) == (1, 1, 1.0)
    both = measure_evidence(judge, [right, wrong])
    assert (both.answers, both.supported, both.hit) == (2, 2, 0.5)
    assert both.precision == both.recall == 0.5
    assert 0 <= both.hit_by_chance <= 1


def test_no_passed_answer_is_an_error(tmp_path):
    write(tmp_path, ROW | {"answer": "Tourists adore golden lanterns."})
    with pytest.raises(ValueError, match="no answer was passed"):
        measure_evidence(load_judge("token-similarity"), list(read_marked(tmp_path)))


def test_missing_data_is_named(tmp_path):
    with pytest.raises(DataNotFound, match="fetaqa"):
        list(read_marked(tmp_path))


@pytest.mark.heavy
@needs_data
def test_real_tables():
    answers = list(read_marked(DATA))
    assert len(answers) > 1000
    found = measure_evidence(load_judge("token-similarity"), answers[:200])
    assert found.hit > found.hit_by_chance
