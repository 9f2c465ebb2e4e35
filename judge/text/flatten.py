"""Documents that are records or tables, as lines to read."""

from __future__ import annotations

from collections.abc import Sequence


def row_text(names: Sequence[str], cells: Sequence[str]) -> str:
    """Write a table's row as `name: cell; name: cell`."""
    return "; ".join(f"{name}: {cell}" for name, cell in zip(names, cells, strict=True))
