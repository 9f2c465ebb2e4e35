"""Rows that no training set may hold: they share text or a question with a test set.

`exclude_from_training.json` at the root of the data folder names them, under keys such as
`frank: hash` or `entfa/train.json: row index from 0`; a key may be in several sections.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

FILE = "exclude_from_training.json"


def read_exclusions(root: Path) -> Mapping[str, frozenset[str]]:
    """Read the rows to leave out, by the file's own keys; ids and row indexes as strings.

    Raises:
        FileNotFoundError: the file is not at `root`. Without it nothing may be trained.
    """
    sections = json.loads((root / FILE).read_text(encoding="utf-8"))
    merged: dict[str, set[str]] = defaultdict(set)
    for section in sections.values():
        if isinstance(section, dict):
            for key, rows in section.items():
                merged[key].update(map(str, rows))
    return {key: frozenset(rows) for key, rows in merged.items()}
