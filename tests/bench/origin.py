"""Where measurements come from: the machine, the code, the command, the day."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

from moonlynx.eval.provenance import git_commit
from moonlynx.judge.contract.types import Record
from moonlynx.judge.terminal.messages import echo

OUT = Path("build/bench")
_PACKAGES = ("torch", "onnxruntime", "transformers", "tokenizers", "numpy")
# What a processor's matrix products may use.
_FEATURES = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx_vnni", "amx_int8", "amx_bf16")


class Machine(Record):
    """What was measured on.

    Attributes:
        load: processes that wanted a core in the minute before (1 for each is a quiet machine's
            own work); None where the system does not say.
    """

    processor: str
    features: tuple[str, ...]
    cores: int
    memory_gb: float
    system: str
    load: float | None


class Origin(Record):
    """How to measure the same again."""

    date: datetime
    commit: str | None
    command: str
    python: str
    packages: dict[str, str]
    machine: Machine

    @classmethod
    def of(cls, module: str, arguments: Sequence[str], folder: Path | None = None) -> Origin:
        """Describe a run of `module` that begins now; `folder` holds further packages."""
        packages = {name: found for name in _PACKAGES if (found := _version(name))}
        beside = distributions(path=[str(folder)]) if folder else ()
        return cls(
            date=datetime.now(UTC).replace(microsecond=0),
            commit=git_commit(),
            command=shlex.join(["python", "-m", module, *arguments]),
            python=platform.python_version(),
            packages=packages | {each.name: each.version for each in beside},
            machine=_machine(),
        )

    def describe(self) -> str:
        """Return it as a Markdown list."""
        machine = self.machine
        load = "" if machine.load is None else f", load {machine.load:.1f} before"
        lines = [
            f"{machine.processor}, {machine.cores} cores, {machine.memory_gb:.0f} GB, "
            f"{machine.system}{load}",
            f"{', '.join(machine.features) or 'no vector extension that is known here'}",
            f"Python {self.python}, {', '.join(map(' '.join, self.packages.items()))}",
            f"{self.date.isoformat()}, commit {self.commit or 'unknown'}",
            f"`{self.command}`",
        ]
        return "\n".join(f"- {line}" for line in lines)


def write(folder: Path, name: str, found: Record, text: str) -> None:
    """Write what was found as JSON and as Markdown, and print the latter."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(found.model_dump_json(indent=2) + "\n", encoding="utf-8")
    path.with_suffix(".md").write_text(text, encoding="utf-8")
    echo(text)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _machine() -> Machine:
    facts: dict[str, str] = {}
    if sys.platform == "linux":
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        pairs = (line.partition(":") for line in text.splitlines())
        facts = {key.strip(): value.strip() for key, _, value in pairs}
    flags = facts.get("flags", "").split()
    return Machine(
        processor=facts.get("model name") or platform.processor() or platform.machine(),
        features=tuple(name for name in _FEATURES if name in flags),
        cores=os.cpu_count() or 1,
        memory_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        system=f"{platform.system()} {platform.machine()}",
        load=round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    )
