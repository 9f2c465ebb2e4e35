"""Tables of plain cases, as JSON Lines beside the test that reads them; and rows written so."""

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel


def cases(test: str, name: str) -> list[Any]:
    """Return the rows of `NAME.jsonl` beside the test file."""
    text = Path(test).with_name(f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def write_lines(path: Path, *rows: Any) -> Path:
    """Write rows, records or plain objects, as JSON Lines; return the path."""
    lines = (r.model_dump_json() if isinstance(r, BaseModel) else json.dumps(r) for r in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
