"""Where the labelled data lies that the repository does not hold, and the mark of tests over it."""

import os
from pathlib import Path

import pytest

_MARKER = "exclude_from_training.json"  # the file that every set is read with
DATA = Path(os.environ.get("MOONLYNX_DATA") or "no-labelled-data")
needs_data = pytest.mark.skipif(
    not (DATA / _MARKER).is_file(),
    reason=f"MOONLYNX_DATA names no folder with the labelled data (no {_MARKER} in it)",
)


def reads_all_data(test):
    """Mark a test that needs the data, and reads whole sets of it, which takes a while."""
    return pytest.mark.heavy(needs_data(test))
