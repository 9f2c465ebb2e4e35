"""What a benchmark found: one record, one way to write it, one way to put two runs side by side.

Every benchmark is `python -m tests.bench.NAME [options] --report FILE --against FILE`. The
report is Markdown; the record goes beside it as JSON, which `--against` reads.
"""

from __future__ import annotations

import datetime
import os
import platform
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from pydantic import Field

from moonlynx import __version__
from moonlynx.eval.markdown import UNDEFINED, table
from moonlynx.eval.provenance import Provenance, cpu_facts, git_commit, processor, versions
from moonlynx.judge.contract.types import MoonlynxError, Record
from moonlynx.judge.terminal.messages import echo, errors_as_messages

_OUT = Path("build/bench")
_PACKAGES = ("torch", "onnxruntime", "transformers", "tokenizers", "numpy")
# What a processor's matrix products may use.
_FEATURES = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx_vnni", "amx_int8", "amx_bf16")

ReportOption = Annotated[
    Path | None,
    typer.Option(help=f"Markdown file, with the record as .json beside it (default: in {_OUT})."),
]
AgainstOption = Annotated[
    Path | None, typer.Option(help="Record (.json) of an earlier run to compare with.")
]


class BenchError(MoonlynxError, RuntimeError):
    """Something cannot be measured; says why."""


class Machine(Record):
    """What was measured on; `load` is of the minute before, 1 for each core that was wanted."""

    processor: str
    features: tuple[str, ...]
    cores: int
    memory_gb: int
    system: str
    load: float


class Origin(Provenance):
    """How to measure the same again."""

    packages: dict[str, str]
    machine: Machine

    @classmethod
    def of(cls, module: str, *further: str, folder: Path | None = None) -> Origin:
        """Describe a run of a module that begins now, with the versions of what it runs on.

        Args:
            module: below `tests.bench`.
            further: packages beside the usual ones.
            folder: holds packages of its own.
        """
        beside = distributions(path=[str(folder)]) if folder else ()
        flags = cpu_facts().get("flags", "").split()
        return cls(
            schema_version="1.0",
            package_version=__version__,
            git_commit=git_commit(),
            date=datetime.datetime.now(datetime.UTC).date(),
            command=shlex.join(["python", "-m", f"tests.bench.{module}", *sys.argv[1:]]),
            packages=versions(*_PACKAGES, *further) | {each.name: each.version for each in beside},
            machine=Machine(
                processor=processor(),
                features=tuple(name for name in _FEATURES if name in flags),
                cores=os.cpu_count() or 1,
                memory_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
                system=f"{platform.system()} {platform.machine()}",
                load=round(os.getloadavg()[0], 2),
            ),
        )

    def describe(self) -> str:
        """Return it as a Markdown list."""
        machine = self.machine
        return (
            f"- {machine.processor}, {machine.cores} cores, {machine.memory_gb} GB, "
            f"{machine.system}, load {machine.load:.1f} before\n"
            f"- {', '.join(machine.features) or 'no vector extension that is known here'}\n"
            f"- {', '.join(map(' '.join, self.packages.items()))}\n"
            f"{super().describe()}"
        )


class Measurement(Record):
    """A row of a table.

    Attributes:
        table: its title.
        of: what was measured, by column.
        found: figures by column, the most important first; null where undefined.
        samples: what the figures were taken of, such as the seconds of each round.
    """

    table: str
    of: dict[str, str | int]
    found: dict[str, float | None]
    samples: tuple[float, ...] = ()


class Bench(Record):
    """A run of a benchmark.

    Attributes:
        notes: what a reader of the tables has to know, a paragraph each.
        left_out: what was not measured, and why.
    """

    title: str
    origin: Origin
    notes: tuple[str, ...]
    measurements: tuple[Measurement, ...] = ()
    left_out: dict[str, str] = Field(default_factory=dict)

    def adding(self, measurements: Iterable[Measurement]) -> Bench:
        """Return the run with further measurements."""
        return self.model_copy(update={"measurements": (*self.measurements, *measurements)})


def render(bench: Bench, earlier: Bench | None = None) -> str:
    """Return a run as Markdown, each row beside the earlier run's where that has it."""
    sections = [f"# {bench.title}", bench.origin.describe(), *bench.notes]
    if earlier is not None:
        sections.append(f"Earlier is the run of:\n\n{earlier.origin.describe()}")
    for title in dict.fromkeys(each.table for each in bench.measurements):
        rows = [each for each in bench.measurements if each.table == title]
        before = earlier.measurements if earlier else ()
        known = {_key(each): each for each in before if each.table == title}
        sections.append(f"## {title}\n\n{_table(rows, known)}")
    if bench.left_out:
        lines = [f"- {name}: {reason}" for name, reason in bench.left_out.items()]
        sections.append("## Not measured\n\n" + "\n".join(lines))
    return "\n\n".join(sections) + "\n"


_Key = tuple[tuple[str, str | int], ...]


def _key(measurement: Measurement) -> _Key:
    return tuple(measurement.of.items())


def _table(rows: Sequence[Measurement], earlier: Mapping[_Key, Measurement]) -> str:
    of = list(dict.fromkeys(name for row in rows for name in row.of))
    found = list(dict.fromkeys(name for row in rows for name in row.found))
    first = found[0]
    lines = []
    for row in rows:
        line: list[object] = [row.of.get(name, "") for name in of]
        line += [_number(row.found.get(name)) for name in found]
        if earlier:
            other = earlier.get(_key(row))
            then, now = (each.found.get(first) if each else None for each in (other, row))
            line += [_number(then), f"{now / then:.2f}" if now and then else UNDEFINED]
        lines.append(line)
    compared = [f"{first}, earlier", "by earlier"] if earlier else []
    words = {
        place for place, name in enumerate(of) if any(type(r.of.get(name)) is str for r in rows)
    }
    return table([*of, *found, *compared], lines, left=words)


def _number(value: float | None) -> str:
    """Return a figure with three digits that mean something, or all of those before the point."""
    if value is None:
        return UNDEFINED
    if value and abs(value) < 0.001:
        return f"{value:.1e}"
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return (
        f"{value:.3f}" if abs(value) < 1 else f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"
    )


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile of seconds, by column."""
    return {f"p{share} s": float(np.percentile(seconds, share)) for share in (50, 95)}


def publish(bench: Bench, name: str, report: Path | None, against: Path | None) -> None:
    """Write a run as Markdown and as JSON, and print the former.

    Raises:
        BenchError: the earlier run cannot be read.
    """
    earlier = None
    if against is not None:
        try:
            earlier = Bench.model_validate_json(against.read_bytes())
        except ValueError as error:
            raise BenchError(f"{against}: not the record of a benchmark: {error}") from None
    path = report or _OUT / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = render(bench, earlier)
    path.with_suffix(".json").write_text(bench.model_dump_json(indent=2) + "\n", encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    echo(text)


def say(message: str) -> None:
    """Tell the progress."""
    echo(message, err=True)


def run(command: Callable[..., Any]) -> None:
    """Run a benchmark's command from the command line."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(command)
    with errors_as_messages():
        app()
