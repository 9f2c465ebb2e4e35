"""Where a report comes from: the files it was made of and the code that made it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from moonlynx.judge.names import JudgeSpec, parse_spec
from moonlynx.judge.types import JudgeInfo, Record


class File(Record):
    """A file and its SHA-256; `path` is its name, or where it lies below the data folder."""

    path: str
    sha256: str

    @classmethod
    def of(cls, path: Path) -> File:
        """Hash a file."""
        return cls(path=path.name, sha256=hashlib.sha256(path.read_bytes()).hexdigest())


class JudgeRun(Record):
    """A judge that was run over a benchmark, and what set its decision threshold."""

    spec: str
    judge: JudgeInfo
    threshold: str
    calibration: File | None
    verdicts: File

    @classmethod
    def of(cls, spec: str, judge: JudgeInfo, verdicts: Path) -> JudgeRun:
        """Describe a run from the name the judge was loaded by."""
        parsed = parse_spec(spec)
        options = parsed.options if isinstance(parsed, JudgeSpec) else {}
        calibration = options.get("calibration")
        chosen = "of the calibration" if calibration else "the judge's own"
        return cls(
            spec=spec,
            judge=judge,
            threshold=options.get("threshold", chosen),
            calibration=File.of(Path(calibration)) if calibration else None,
            verdicts=File.of(verdicts),
        )


def git_commit() -> str | None:
    """Give the commit this code was checked out at, "-dirty" behind it where files have changed.

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
