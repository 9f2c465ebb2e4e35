"""Rows for the cluster: answers of all kinds, broken ones and blank lines among them."""

import json

from moonlynx.judge.batch.judging import judge_rows
from moonlynx.judge.registry import load_judge
from moonlynx.judge.rows.examples import read_rows


def lines(count):
    """Yield rows as lines of JSON: one in eleven is broken, one in seven is followed by none."""
    for number in range(count):
        facts = [f"Bridge {number + n} was built in {1800 + n} by Anna Weiss." for n in range(6)]
        row = {
            "id": number if number % 2 else f"row-{number}",
            "question": "When was the bridge built?",
            "context": facts[: 1 + number % 6],
            "answer": " ".join(facts[number % 4 : 4]) or "It was never built.",
        }
        if number % 11 == 5:
            row["answer"] = ""
        line = json.dumps(row)
        yield (line[:-1] if number % 22 == 3 else line) + "\n" + "\n" * (number % 7 == 2)


def write_rows(path, count, group=8):
    """Write rows as the file's name says: lines of JSON, or Parquet in groups of so many."""
    if path.suffix == ".jsonl":
        path.write_text("".join(lines(count)), encoding="utf-8")
        return path
    import pyarrow as pa
    from pyarrow.parquet import write_table

    rows = []
    for line in lines(count):
        try:
            row = json.loads(line)
        except ValueError:
            row = {"id": None, "question": None, "context": [], "answer": "It was built."}
        rows.append(row | {"id": str(row["id"]), "note": float("nan")})
    write_table(pa.Table.from_pylist(rows), path, row_group_size=group)
    return path


def on_one_machine(source, output, judge_name="token-similarity"):
    judge_rows(load_judge(judge_name), read_rows(source), output, run={})
    return output.read_bytes()
