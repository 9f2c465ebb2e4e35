"""Tables of plain cases, as JSON Lines beside the test that reads them."""

import json
from pathlib import Path
from typing import Any


def cases(test: str, name: str) -> list[Any]:
    """Return the rows of `NAME.jsonl` beside the test file."""
    text = Path(test).with_name(f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]
