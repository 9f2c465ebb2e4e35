"""Rows that no training mix may hold, and data that is not there."""

from collections.abc import Mapping
from pathlib import Path

from moonlynx.halubench.sources.base import FILE, read_exclusions
from moonlynx.judge.contract.types import MoonlynxError


class DataNotFound(MoonlynxError):
    """The data folder lacks a file; says which and what to set."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: no such file; set MOONLYNX_DATA to the folder with the data")


def load_exclusions(root: Path) -> Mapping[str, frozenset[str]]:
    """Read the rows to leave out, as `read_exclusions`.

    Raises:
        DataNotFound: the file is not at `root`. Without it nothing may be trained.
    """
    try:
        return read_exclusions(root)
    except FileNotFoundError:
        raise DataNotFound(root / FILE) from None
