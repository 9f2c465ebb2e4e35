"""The rule tier laid over verdicts does what it does before the judge, and is counted rightly."""

import json

import pytest

from moonlynx.eval.benchmarks import load_benchmark
from moonlynx.eval.rules_effect import lay_over, main, measure
from moonlynx.judge.registry import load_judge
from moonlynx.judge.types import Example

DOCUMENT = "The bridge was built in 1894. It is ninety metres long. Anna Berg drew the plans."
ANSWERS = [
    ("The bridge was built in 1894.", "PASS"),
    ("The bridge was built in 1931.", "FAIL"),
    ("The bridge is 90 metres long.", "PASS"),
    ("It is 400 metres long and was built in 1894.", "FAIL"),
    ("Plans were drawn by Carl Lind.", "FAIL"),
    ("The bridge was built in 1894, not in 1950.", "PASS"),
]


@pytest.fixture
def rows_file(tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = [
        {"id": number, "context": DOCUMENT, "answer": answer, "label": label}
        for number, (answer, label) in enumerate(ANSWERS)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_laid_over_it_says_what_it_says_before_the_judge(rows_file):
    rows = load_benchmark(str(rows_file)).rows
    judge, before = load_judge("token-similarity"), load_judge("token-similarity?rules=on")
    examples = [row.example for row in rows]
    assert all(isinstance(example, Example) for example in examples)
    assert lay_over(rows, judge(examples)) == before(examples)


def test_what_it_changes_is_counted(rows_file, make_verdict):
    rows = load_benchmark(str(rows_file)).rows
    found = measure(rows, [make_verdict(row.id, "PASS") for row in rows], resamples=200, seed=0)
    assert (found.rows, found.fails) == (6, 3)
    assert (found.fires, found.fires_fail, found.changed, found.mended) == (4, 3, 4, 3)
    assert (found.before, found.after) == (0.5, pytest.approx(5 / 6))
    assert found.difference.value == pytest.approx(1 / 3)
    assert found.difference.low <= found.difference.value <= found.difference.high
    said = [make_verdict(row.id, "FAIL") for row in rows]
    assert measure(rows, said, resamples=200, seed=0).changed == 0


def _cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_command_prints_a_row_for_each_pair(rows_file, tmp_path, capsys):
    arguments = {"output": tmp_path / "out", "limit": 5, "resamples": 100, "seed": 1}
    main(["token-similarity"], [str(rows_file)], **arguments)
    header, _, line = capsys.readouterr().out.strip().splitlines()
    cells = dict(zip(*(_cells(row) for row in (header, line)), strict=True))
    assert cells["judge"] == "token-similarity"
    assert cells["benchmark"].endswith(", of 6")
    assert cells["rows"] == "5"
    assert list((tmp_path / "out").rglob("verdicts-*.jsonl"))
