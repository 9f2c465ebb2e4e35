import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def tracked():
    """Return the repository's files, from its root: tracked ones and new ones not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = {Path(name) for name in names.split("\0") if name}
    return sorted(path for path in paths if os.path.lexists(ROOT / path))


@pytest.fixture(scope="session")
def copy_repository(tracked):

    def copy(target: Path) -> Path:
        for path in tracked:
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, target / path, follow_symlinks=False)
        return target

    return copy


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def programs():
    return Path(sys.executable).parent


@pytest.fixture(scope="session")
def user_environment(programs):
    """Return the environment of a user's shell: our commands on the path, nothing of this run."""
    kept = {"HOME", "LANG", "TMPDIR", "SYSTEMROOT"}
    inherited = {name: value for name, value in os.environ.items() if name in kept}
    path = os.pathsep.join([str(programs), os.environ.get("PATH", os.defpath)])
    return inherited | {"PATH": path, "HF_HUB_OFFLINE": "1", "COLUMNS": "80", "LC_ALL": "C.UTF-8"}
