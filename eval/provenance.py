"""Where results come from: code, day, command, versions and machine; files and judges."""

from __future__ import annotations

import datetime
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from moonlynx import __version__
from moonlynx.judge.contract.spec import JudgeSpec, Spec
from moonlynx.judge.contract.types import JudgeInfo, Record
from moonlynx.judge.files.stored import sha256_file


class Provenance(Record):
    """The code that computed a report, the day and the command."""

    schema_version: str  # of the report's form
    package_version: str
    git_commit: str | None  # "-dirty" appended where files had changed; null where not known
    date: datetime.date
    command: str

    def describe(self) -> str:
        """Return it as a Markdown list."""
        commit = f", commit {self.git_commit}" if self.git_commit else ""
        return (
            f"- Made by moonlynx {self.package_version}{commit}, on {self.date.isoformat()}\n"
            f"- Command: `{self.command}`"
        )


class File(Record):
    """A file and its SHA-256; `path` is its name, or its path below the data folder."""

    path: str
    sha256: str

    @classmethod
    def of(cls, path: Path) -> File:
        """Return a file with its hash."""
        return cls(path=path.name, sha256=sha256_file(path))

    def __str__(self) -> str:
        return f"{self.path} (sha256 `{self.sha256}`)"


class JudgeRun(Record):
    """A judge that was run over a benchmark, and what set its decision threshold."""

    spec: str
    judge: JudgeInfo
    threshold: str
    calibration: File | None
    verdicts: File

    @classmethod
    def of(cls, spec: Spec, judge: JudgeInfo, verdicts: Path) -> JudgeRun:
        """Describe a run from the spec the judge was loaded by."""
        options = spec.options if isinstance(spec, JudgeSpec) else {}
        calibration = options.get("calibration")
        chosen = "of the calibration" if calibration else "the judge's own"
        if "preset" in options:
            chosen = f"preset {options['preset']}"
        return cls(
            spec=str(spec),
            judge=judge,
            threshold=options.get("threshold", chosen),
            calibration=File.of(Path(calibration)) if calibration else None,
            verdicts=File.of(verdicts),
        )


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


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of Python, of this package, and of those packages that are installed."""
    found = {"python": platform.python_version(), "moonlynx": __version__}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def processor() -> str:
    """Return the processor's name: as Linux has it, else as Python does."""
    return cpu_facts().get("model name") or platform.processor() or platform.machine()


def cpu_facts() -> dict[str, str]:
    """Return what Linux says of the last core, by its own names; nothing on other systems."""
    return _facts(Path("/proc/cpuinfo"))


def peak_bytes() -> int | None:
    """Return the most bytes of memory that this process had, as Linux tells; else None."""
    peak = _facts(Path("/proc/self/status")).get("VmHWM")  # in kB
    return None if peak is None else 1024 * int(peak.split()[0])


def _facts(path: Path) -> dict[str, str]:
    """Read lines of `name: value`, the last of a name; nothing where there is no such file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    pairs = (line.partition(":") for line in lines)
    return {key.strip(): value.strip() for key, _, value in pairs}
