"""The papers' tables as data, each row with its counterpart here or the reason why there is none.

A file of `papers/` holds one paper, every figure as text, as it is printed. Ours are from the pages
in docs/results; a test looks each of them up there.
"""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple, Self

import yaml
from pydantic import Field, model_validator

from moonlynx.judge.contract.types import MoonlynxError, Record

from ..markdown import UNDEFINED

PAPERS = ("lynx", "luna", "luna2", "raghalu", "four-detectors")
Status = Literal["measured", "in part", "missing", "no figures"]


class UnknownTable(MoonlynxError, ValueError):
    """A paper, or a table of it, that there is not."""


class Ours(Record):
    """What was measured here."""

    system: str
    values: tuple[str, ...]  # one for each column; – where it was not measured
    page: str  # a file below docs/results, or a path in the repository
    lacks: str = ""  # why values are missing

    @property
    def path(self) -> str:
        """The page's path in the repository."""
        return f"docs/results/{self.page}" if self.page.startswith("20") else self.page


class Row(Record):
    """A row of a paper's table, with its counterpart, or why there is none."""

    values: tuple[str, ...]
    ours: Ours | None = None
    missing: str = ""


class Plot(Record):
    """A figure: across, then up."""

    axes: tuple[str, str]
    ticks: tuple[tuple[float, ...], tuple[float, ...]]  # the values marked, from end to end
    log: tuple[bool, bool]  # whether the axis is logarithmic
    lines: dict[str, tuple[tuple[float, float], ...]]  # points by system; a single one is a dot


class Line(NamedTuple):
    """A row as it is shown: the paper's, its counterpart ("ours"), or ours alone ("beside")."""

    whose: Literal["paper", "ours", "beside"]
    system: str
    values: tuple[str, ...]
    page: str
    why: str


class Table(Record):
    """A table, a figure or a passage with figures."""

    paper: str
    name: str
    title: str
    where: str  # in the paper
    metric: str = ""
    columns: tuple[str, ...] = ()
    rows: dict[str, Row] = Field(default_factory=dict)  # the paper's, by system
    beside: tuple[Ours, ...] = ()  # measured here, without a row of the paper
    differs: str = ""  # what keeps ours from being compared as it stands
    missing: str = ""  # why a row has no counterpart, where it says nothing of its own
    command: str = ""  # for the whole table, with its hardware
    hardware: str = ""
    takes: str = ""  # hours, dollars and data
    note: str = ""
    picture: str = ""  # an SVG in docs that shows ours
    plot: Plot | None = None

    @property
    def status(self) -> Status:
        """How much of it is measured here."""
        ours = [row.ours for row in self.rows.values()]
        if ours and all(one and UNDEFINED not in one.values for one in ours):
            return "measured"
        if any(ours) or self.beside:
            return "in part"
        return "missing" if self.rows or self.missing else "no figures"

    def lines(self) -> Iterator[Line]:
        """Yield the paper's rows, each with its counterpart behind it, then what is ours alone."""
        for name, row in self.rows.items():
            why = "" if row.ours else row.missing or self.missing
            yield Line("paper", name, row.values, "", why)
            if row.ours:
                yield Line("ours", row.ours.system, row.ours.values, row.ours.path, row.ours.lacks)
        for ours in self.beside:
            yield Line("beside", ours.system, ours.values, ours.path, ours.lacks)

    def gaps(self) -> dict[str, list[str]]:
        """Return, by reason, what of the paper has no counterpart, or only in part."""
        found: dict[str, list[str]] = {}
        for line in self.lines():
            if line.why and line.whose != "beside":
                part = f"ours: {line.system}, in part" if line.page else line.system
                found.setdefault(line.why, []).append(part)
        if self.missing and not self.rows:
            found[self.missing] = ["all of it"]
        return found

    @model_validator(mode="after")
    def _whole(self) -> Self:
        for line in self.lines():
            if len(line.values) != len(self.columns):
                counts = f"{len(line.values)} values for {len(self.columns)} columns"
                raise ValueError(f"{line.system}: {counts}")
            if line.page and UNDEFINED in line.values and not line.why:
                raise ValueError(f"{line.system}: say why a value is missing")
        for name, row in self.rows.items():
            if not (row.ours or row.missing or self.missing):
                raise ValueError(f"{name}: say what is ours or why it is missing")
        return self


class Paper(Record):
    """A paper: its tables by name, and the reasons why something is missing, for its file's use."""

    title: str
    source: str
    reasons: dict[str, str]
    tables: dict[str, Table]


@cache
def load_paper(name: str) -> Paper:
    """Return a paper.

    Raises:
        UnknownTable: there is no paper of that name; names those that there are.
    """
    if name not in PAPERS:
        raise UnknownTable(f"no paper {name!r}; there are {', '.join(PAPERS)}")
    text = files(__package__).joinpath("papers", f"{name}.yaml").read_text(encoding="utf-8")
    # Every scalar as it is written, so that 0.90 stays 0.90; this loader builds nothing but text.
    content = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506
    for table, about in content["tables"].items():
        about |= {"paper": name, "name": table}
    return Paper.model_validate(content)


def choose(name: str | None) -> list[Table]:
    """Return the tables of "PAPER", that of "PAPER:TABLE" ("luna:2" is "luna:table-2"), or all.

    Raises:
        UnknownTable: there is no such paper or table; names those that there are.
    """
    if name is None:
        return [table for paper in PAPERS for table in choose(paper)]
    paper, colon, wanted = name.partition(":")
    tables = load_paper(paper).tables
    found = [tables[each] for each in tables if not colon or each in (wanted, f"table-{wanted}")]
    if not found:
        raise UnknownTable(f"no table {wanted!r}; there are {', '.join(tables)}")
    return found
