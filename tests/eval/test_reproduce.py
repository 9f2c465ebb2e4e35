import csv
import io
import re
import shlex
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.main import get_command

from moonlynx.cli import app
from moonlynx.eval.benchmarks.published import published
from moonlynx.eval.reproduce.tables import PAPERS, Ours, Row, Table, choose, load_paper

from ..command import moonlynx

ROOT = Path(__file__).parents[2]
TABLES = {
    "lynx": ["figure-1", *(f"table-{n}" for n in range(1, 6))],
    "luna": [*(f"figure-{n}" for n in range(1, 5)), *(f"table-{n}" for n in range(1, 7))],
    "luna2": [*(f"figure-{n}" for n in range(1, 6)), *(f"table-{n}" for n in range(1, 6))],
    "raghalu": [*(f"figure-{n}" for n in range(1, 5)), *(f"table-{n}" for n in (*range(1, 9), 13))],
    "four-detectors": ["figure-1", "comparison", "recommendation"],
}
MEASURED = [
    pytest.param(line, id=f"{one.paper}:{one.name} {line.system}")
    for one in choose(None)
    for line in one.lines()
    if line.page
]


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_and_figure_of_a_paper_is_there(paper):
    assert set(TABLES[paper]) <= set(load_paper(paper).tables)


@pytest.mark.parametrize("line", MEASURED)
def test_a_figure_of_ours_is_on_the_page_that_it_names(line):
    page = (ROOT / line.page).read_text(encoding="utf-8")
    for value in line.values:
        assert value == "–" or re.search(rf"(?<![\d.]){re.escape(value)}(?![\d])", page), value


def test_the_published_figures_are_those_of_the_reports():
    """Both were transcribed from the papers, at different times."""
    (halubench,) = published("halubench")
    rows = load_paper("lynx").tables["table-3"].rows | load_paper("lynx").tables["table-4"].rows
    by_name = {name: [float(value) for value in row.values] for name, row in rows.items()}
    for name, values in halubench.systems.items():
        assert by_name[name] == list(values)
    luna, _ = published("ragtruth")
    f1 = [
        [float(row.values[at]) for at in (2, 5, 8, 11)]
        for row in load_paper("luna").tables["table-2"].rows.values()
    ]
    assert f1 == [list(values) for values in luna.systems.values()]


def test_the_page_and_its_files_are_what_the_command_makes(tmp_path):
    done = moonlynx("reproduce", "--output", tmp_path / "docs")
    assert done.exit_code == 0, done.output
    made = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert {"reproduction.md", "reproduction.csv", "luna2-table-5.svg"} <= {p.name for p in made}
    for path in made:
        committed = ROOT / path.relative_to(tmp_path)
        assert path.read_text() == committed.read_text(), (
            f"moonlynx reproduce --output docs: {path}"
        )
        if path.suffix == ".svg":
            ElementTree.fromstring(path.read_text())
    kept = {path.name for path in (ROOT / "docs" / "reproduction").iterdir()}
    assert kept == {path.name for path in made if path.suffix == ".svg"}


def test_every_figure_of_a_paper_is_a_line_or_says_that_it_is_missing():
    lines = list(csv.DictReader(io.StringIO(moonlynx("reproduce", "--format", "csv").output)))
    for paper in PAPERS:
        for name, table in load_paper(paper).tables.items():
            own = [line for line in lines if (line["paper"], line["table"]) == (paper, name)]
            values = [line["value"] for line in own if line["whose"] == "paper"]
            assert [v for v in values if v] == list(
                chain.from_iterable(row.values for row in table.rows.values())
            )
            for system, row in table.rows.items():
                of_row = [line for line in own if line["system"] == system and not line["page"]]
                assert all(bool(line["why"]) == (row.ours is None) for line in of_row)


@pytest.mark.parametrize("format_", ["rich", "markdown"])
def test_a_table_is_shown_with_what_is_ours_what_differs_and_what_it_takes(format_):
    done = moonlynx("reproduce", "luna:2", "--format", format_, env={"COLUMNS": "400"})
    assert done.exit_code == 0
    for said in ("65.4", "63.9", "2026-11-24-reproduction", "Missing", "Differs", "GPU hours"):
        assert said in done.output, said
    assert moonlynx("reproduce", "luna:table-2", "--format", format_).exit_code == 0
    every = moonlynx("reproduce", "--format", format_, env={"COLUMNS": "200"}).output
    assert all(paper in every for paper in PAPERS)
    assert "missing" in every


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("luna3", "no paper 'luna3'; there are lynx, luna, luna2, raghalu, four-detectors"),
        ("luna:9", "no table '9'; there are figure-1, "),
        ("luna:", "no table ''; there are figure-1, "),
    ],
)
def test_an_unknown_name_is_answered_by_those_that_there_are(name, says):
    done = moonlynx("reproduce", name)
    assert done.exit_code != 0
    assert says in str(done.exception)


def test_a_row_without_a_counterpart_needs_a_reason():
    columns, row = ("F1",), Row(values=("1",))
    named = {"paper": "p", "name": "t", "title": "x", "where": "y", "columns": columns}
    with pytest.raises(ValueError, match="GPT: say what is ours or why it is missing"):
        Table(**named, rows={"GPT": row})
    with pytest.raises(ValueError, match="GPT: 1 values for 2 columns"):
        Table(**(named | {"columns": ("a", "b")}), rows={"GPT": row}, missing="api")
    with pytest.raises(ValueError, match="luna: say why a value is missing"):
        Table(**named, beside=(Ours(system="luna", values=("–",), page="x"),))
    table = Table(**named, rows={"GPT": row}, missing="no endpoint")
    assert (table.status, table.gaps()) == ("missing", {"no endpoint": ["GPT"]})


def test_every_command_for_the_whole_exists():
    group = get_command(app)
    said = [one.command for one in choose(None)]
    commands = [part.strip() for command in said for part in command.split(";")]
    ours = [part[part.find("moonlynx ") :] for part in commands if "moonlynx " in part]
    assert len(ours) > 15
    for command in ours:
        words, at = shlex.split(command)[1:], group
        while words and hasattr(at, "commands"):
            at = at.commands[words.pop(0)]
        options = {name for option in at.params for name in option.opts}
        assert {word for word in words if word.startswith("--")} <= options, command
