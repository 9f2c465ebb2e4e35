"""Rows that no training mix may hold: they share text or a question with a test set.

`exclude_from_training.json` at the root of the data folder names them, under keys such as
`frank: hash` or `entfa/train.json: row index from 0`, in several sections.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from moonlynx.judge.types import MoonlynxError

_FILE = "exclude_from_training.json"


class DataNotFound(MoonlynxError):
    """The data folder lacks a file; says which and what to set."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: no such file; set MOONLYNX_DATA to the folder with the data")


@dataclass(frozen=True, slots=True)
class Exclusions:
    """The rows to leave out, all sections merged.

    Attributes:
        by_key: the file's own keys, with ids and row indexes as strings.
    """

    by_key: Mapping[str, frozenset[str]]

    def rows(self, name: str) -> frozenset[str]:
        """Give the rows under the key `name`, or under those that go on behind it with a colon."""
        found = (
            rows for key, rows in self.by_key.items() if key == name or key.startswith(f"{name}: ")
        )
        return frozenset().union(*found)


def load_exclusions(root: Path) -> Exclusions:
    """Read the rows to leave out.

    Raises:
        DataNotFound: the file is not at `root`. Without it nothing may be trained.
    """
    try:
        sections = json.loads((root / _FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataNotFound(root / _FILE) from None
    merged: dict[str, set[str]] = defaultdict(set)
    for section in sections.values():
        if isinstance(section, dict):
            for key, rows in section.items():
                merged[key].update(map(str, rows))
    return Exclusions({key: frozenset(rows) for key, rows in merged.items()})
