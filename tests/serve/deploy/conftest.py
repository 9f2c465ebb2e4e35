import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def deploy():
    return ROOT / "serve" / "deploy"


@pytest.fixture(scope="session")
def tool():
    def find(name, how):
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        return shutil.which(name, path=path) or pytest.skip(f"no {name} here: {how}")

    return find
