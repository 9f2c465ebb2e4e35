import os
import shutil
import sys
from pathlib import Path

import pytest

from .loopback import calling


@pytest.fixture(scope="session")
def client():
    with calling() as client:
        yield client


@pytest.fixture(scope="session")
def tool():
    def find(name, how):
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        return shutil.which(name, path=path) or pytest.skip(f"no {name} here: {how}")

    return find
