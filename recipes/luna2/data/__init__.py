"""Labelled inputs of each metric: read from open sets or a user's file, and split by group."""

from dataclasses import replace
from pathlib import Path

from moonlynx.judge.contract.types import MoonlynxError

from .licences import SETS
from .rows import LabelledInput, Placed, read_rows
from .splits import Splits, cap, split

__all__ = [
    "SETS",
    "LabelledInput",
    "Splits",
    "UnknownMetric",
    "cap",
    "load",
    "read_rows",
    "split",
]

SEED = 5  # of the split: leaves rows of every class on every side


class UnknownMetric(MoonlynxError, ValueError):
    """A metric that no set is read for."""


def load(metric: str, root: Path) -> Splits:
    """Read a metric's sets from the data folder, split in three: no seed of a run moves a row.

    A set with a folder of its own is read where there is that folder.

    Raises:
        UnknownMetric: no set is read for it; names those that there are.
        DataNotFound: the folder lacks a file.
    """
    if metric not in SETS:
        raise UnknownMetric(f"no data for {metric!r}; there is for {', '.join(SETS)}")
    here = {
        name: each
        for name, each in SETS[metric].items()
        if each.folder is None or (root / each.folder).is_dir()
    }
    placed = (
        Placed(read, "test" if each.use == "tested" else side)
        for each in here.values()
        for read, side in each.read(root)
    )
    learned = tuple(name for name, each in here.items() if each.use == "shipped")
    return replace(split(placed, SEED), sets=learned)
