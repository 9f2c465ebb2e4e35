"""Sixteen sheets of features with ten claims each, in the four forms that such sheets have.

`python -m tests.judge.judges.luna.sheets FORM` prints them as rows to judge. The claims are by an
author who knew nothing of how records are read.
"""

import json
import sys
from pathlib import Path

THINGS = Path(__file__).with_suffix(".jsonl")


def members(thing, yes, no):
    """Return all that the sheet says, in order."""
    return thing["values"] | {name: yes if has else no for name, has in thing["features"].items()}


def as_json(thing):
    head = {"name": thing["item"], "kind": thing["kind"]}
    return json.dumps(head | thing["values"] | {"features": thing["features"]}, ensure_ascii=False)


def as_lines(thing):
    said = [f"{name}: {value}" for name, value in members(thing, "Yes", "No").items()]
    return "\n".join([f"{thing['item']} ({thing['kind']})", "", *said])


def as_table(thing):
    rows = [f"| {name} | {value} |" for name, value in members(thing, "Yes", "No").items()]
    return "\n".join([f"## {thing['item']}", "", "| Feature | Available |", "|---|---|", *rows])


def as_row(thing):
    cells = {"Name": thing["item"], **members(thing, "✓", "✗")}
    rows = [" | ".join(cells), "|".join("---" for _ in cells), " | ".join(cells.values())]
    return "\n".join(f"| {row} |" for row in rows)


FORMS = {"json": as_json, "lines": as_lines, "table": as_table, "row": as_row}


def read_things():
    return [json.loads(line) for line in THINGS.read_text(encoding="utf-8").splitlines()]


def rows(form):
    """Return a row for each claim, its document in a form of `FORMS`."""
    return [
        {"id": f"{number:02}{letter}", "context": [FORMS[form](thing)], **claim}
        for number, thing in enumerate(read_things(), start=1)
        for letter, claim in zip("abcdefghij", thing["claims"], strict=True)
    ]


if __name__ == "__main__":
    lines = (json.dumps(row, ensure_ascii=False) for row in rows(sys.argv[1]))
    sys.stdout.writelines(f"{line}\n" for line in lines)
