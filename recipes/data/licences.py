"""Every data set that was looked at: what it is used for, under which licence, shipped or not.

The weights that are shipped may be trained only on sets whose stated licence permits it: none that
forbids commercial use, none without a stated licence. README.md shows what licences.yaml holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

from moonlynx.eval.markdown import table


class Source(NamedTuple):
    """One data set.

    Attributes:
        use: rows after all exclusions for `answers`, "pairs" for stage 1; or why there are none.
        licence: as stated where the files were taken from.
        shipped: weights trained on it may be shipped.
        why: what the set contributes, or the reason against it.
    """

    use: str
    licence: str
    shipped: bool
    why: str


SOURCES: Mapping[str, Source] = {
    name: Source(**fields)
    for name, fields in yaml.safe_load(
        Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    ).items()
}


def licence_table() -> str:
    """Return the table in Markdown."""
    header = ("set", "used", "licence as stated", "shipped", "what it is")
    rows = (
        (name, row.use, row.licence, "yes" if row.shipped else "no", row.why)
        for name, row in SOURCES.items()
    )
    return table(header, rows, left=range(len(header)), form="tight")
