import json

import pytest

from ...command import flat, moonlynx
from .test_judge import CONTEXT, EXAMPLES, GROUNDED, HALLUCINATED

BOTH = f"{GROUNDED} {HALLUCINATED}"


def correct(*arguments, **options):
    return moonlynx("correct", "--judge", "luna:mini", *arguments, **options)


def corrected(folder, *arguments):
    """Correct one answer; return its row and what was said."""
    rows, output = folder / "rows.jsonl", folder / "out.jsonl"
    rows.write_text(json.dumps({"context": CONTEXT, "answer": BOTH}))
    done = correct("--input", rows, "--output", output, *arguments)
    assert done.exit_code == 0, done.output
    (row,) = map(json.loads, output.read_text().splitlines())
    return row, done.stderr


def test_an_answer_is_corrected_with_its_record(tmp_path):
    row, said = corrected(tmp_path)
    assert (row["answer"], row["correction"]["outcome"]) == (GROUNDED, "filtered")
    assert row["context"] == [CONTEXT]
    assert "1 rows: 0 PASS, 1 FAIL; answers: 1 filtered" in said


def test_by_option_it_is_marked(tmp_path):
    row, _ = corrected(tmp_path, "--annotate")
    assert row["answer"] == f"{BOTH} [unsupported]"


@pytest.mark.heavy
def test_rows_in_rows_out_and_a_second_run_resumes(tmp_path):
    output = tmp_path / "corrected.jsonl"
    done = correct("--input", EXAMPLES, "--output", output)
    assert done.exit_code == 0
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert [row["id"] for row in rows] == [
        json.loads(line)["id"] for line in EXAMPLES.read_text().splitlines()
    ]
    whole = output.read_bytes()
    output.write_bytes(whole[: len(whole) // 2])
    again = correct("--input", EXAMPLES, "--output", output)
    assert (again.exit_code, output.read_bytes()) == (0, whole)
    assert again.stderr == done.stderr
    other = correct("--input", EXAMPLES, "--output", output, "--annotate")
    assert "belongs to a run with another annotate" in str(other.exception)
    # Rows out are rows in.
    left = tmp_path / "left.jsonl"
    left.write_text("".join(json.dumps(one) + "\n" for one in rows))
    judged = moonlynx("judge", "--judge", "luna:mini", "--input", left, "--format", "json")
    failed = [json.loads(line)["score"] for line in judged.stdout.splitlines()].count("FAIL")
    assert failed == sum(row["correction"]["outcome"] == "nothing_left" for row in rows)


def test_a_chat_model_rewrites(tmp_path, script):
    sentence = "Tourists can cross 90 m."
    file = script({"match": "golden lanterns", "text": json.dumps({"sentence": sentence})})
    record = corrected(tmp_path, "--rewrite", f"@fake?script={file}")[0]["correction"]
    assert record["usage"]["calls"] == 1
    assert sentence in str(record["changes"])


def test_a_row_that_cannot_be_read_has_its_error_in_its_place(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": 1, "context": "c"}\n' + json.dumps({"context": "c", "answer": "xx?!"}))
    done = correct("--input", rows, "--output", tmp_path / "out.jsonl")
    assert done.exit_code == 3
    bad, unscored = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert (bad["id"], bad["error"]["code"], bad["correction"]) == (1, "bad_input", None)
    assert unscored["correction"] is None or unscored["correction"]["outcome"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--output", "x.jsonl", "--annotate", "--rewrite", "m@llamacpp"], "not both"),
        (["--output", EXAMPLES], "are the same file"),
        (["--output", "x.jsonl", "--rewrite", "m@nowhere"], "unknown backend"),
    ],
)
def test_wrong_usage_is_said(arguments, says):
    done = correct("--input", EXAMPLES, *arguments)
    assert done.exit_code != 0
    assert says in flat(f"{done.output} {done.exception}")
