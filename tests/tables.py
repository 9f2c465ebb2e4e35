"""Tables of plain cases, kept as JSON Lines beside their tests."""

import json
from pathlib import Path


def table(test, name):
    """Return the cases in the file `name` beside the test's own."""
    lines = Path(test).with_name(name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]
