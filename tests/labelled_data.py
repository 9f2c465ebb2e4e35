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
