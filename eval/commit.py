"""Which commit the code is at: what reports and records of training name as their maker."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def git_commit() -> str | None:
    """Return the commit of this checkout, with "-dirty" after it where files have changed.

    None where the code is not a tracked file of a repository, as after an install from a wheel.
    """
    git = shutil.which("git")
    here = Path(__file__).resolve()
    if git is None:
        return None
    tracked = _run(git, here.parent, "ls-files", "--error-unmatch", here.name)
    if tracked is None:
        return None
    return _run(git, here.parent, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


def _run(git: str, folder: Path, *arguments: str) -> str | None:
    result = subprocess.run(  # noqa: S603 (fixed arguments)
        [git, "-C", str(folder), *arguments], capture_output=True, text=True, check=False
    )
    return result.stdout.strip() if result.returncode == 0 else None
