"""The papers' tables as text, Markdown and CSV, and their figures as SVG."""

from collections.abc import Iterator, Sequence
from math import log10

from moonlynx.judge.decision.cost import load_prices

from ..cost.estimate import VOLUME, measured
from ..cost.pages import Cells, claim_cells, cost_cells, notes
from ..figures import Series, Ticks, draw
from ..markdown import table as markdown_table
from .tables import Line, Plot, Table, load_paper

FOLDER = "reproduction"  # of the figures, beside the page
_LINES = ("paper", "table", "where", "metric", "system", "whose", "column", "value", "page", "why")


def overview(chosen: Sequence[Table]) -> Cells:
    """Return what there is, and how much of it is measured."""
    rows = [(one.paper, one.name, one.title, one.status) for one in chosen]
    return Cells("", ("paper", "table", "what", "here"), rows)


def cells_of(table: Table) -> Cells:
    """Return a table with ours below the paper's rows."""
    rows = [
        (_named(line), *line.values, line.page or ("missing" if line.why else ""))
        for line in table.lines()
    ]
    title = f"{table.paper} {table.name}: {table.title} ({table.where}). Here: {table.status}."
    return Cells(title, (table.metric or "system", *table.columns, "from"), rows)


def _named(line: Line) -> str:
    return line.system if line.whose == "paper" else f"ours: {line.system}"


def remarks(table: Table) -> Iterator[tuple[str, str]]:
    """Yield what is said below a table, by what it is about."""
    if table.note:
        yield "Note", table.note
    if table.differs:
        yield "Differs", table.differs
    for reason, missing in table.gaps().items():
        yield "Missing", f"{'; '.join(missing)}: {reason}"
    if table.command:
        yield "The whole of it", f"`{table.command}`"
        yield "On", f"{table.hardware}; {table.takes}"


def figure_lines(chosen: Sequence[Table]) -> Cells:
    """Return every figure as a row of its own."""
    rows = []
    for one in chosen:
        about = (one.paper, one.name, one.where, one.metric)
        for line in one.lines():
            for column, value in zip(one.columns, line.values, strict=True):
                rows.append((*about, line.system, line.whose, column, value, line.page, line.why))
        if not one.rows and one.missing:
            rows.append((*about, "", "paper", "", "", "", one.missing))
    return Cells("", _LINES, rows)


def render_figures(chosen: Sequence[Table]) -> dict[str, str]:
    """Return the SVG of every figure by its file name."""
    return {f"{one.paper}-{one.name}.svg": _svg(one.title, one.plot) for one in chosen if one.plot}


def _svg(title: str, plot: Plot) -> str:
    shares = {
        name: [(_share(plot, 0, x), _share(plot, 1, y)) for x, y in points]
        for name, points in plot.lines.items()
    }
    series = [Series(name, at, [(*dot, 4.0) for dot in at]) for name, at in shares.items()]
    return draw(title, plot.axes, series, "", "", ticks=(_marks(plot, 0), _marks(plot, 1)))


def _share(plot: Plot, axis: int, value: float) -> float:
    low, high = plot.ticks[axis][0], plot.ticks[axis][-1]
    if plot.log[axis]:
        low, high, value = log10(low), log10(high), log10(value)
    return (value - low) / (high - low)


def _marks(plot: Plot, axis: int) -> Ticks:
    return [(_share(plot, axis, tick), f"{tick:,.10g}") for tick in plot.ticks[axis]]


def render_page(chosen: Sequence[Table]) -> str:
    """Return the page in Markdown: an overview, every table, costs, what has no counterpart."""
    prices = load_prices()
    linked = [
        (paper, f"[{name}](#{_anchor(paper, name)})", title, f"**{status}**")
        for paper, name, title, status in overview(chosen).rows
    ]
    costs = cost_cells(measured(), prices, VOLUME)
    costs = costs._replace(
        rows=[(*row[:-1], _link(f"docs/results/{row[-1]}")) for row in costs.rows]
    )
    gaps = [
        (one.paper, f"[{one.name}](#{_anchor(one.paper, one.name)})", "; ".join(rows), reason)
        for one in chosen
        for reason, rows in one.gaps().items()
    ]
    parts = [_INTRODUCTION, _table(overview(chosen)._replace(rows=linked)), render_tables(chosen)]
    parts += ["## Cost", _COST, _table(costs), notes(prices, VOLUME), _table(claim_cells(prices))]
    parts += ["## Without a counterpart", _GAPS]
    parts.append(_table(Cells("", ("paper", "table", "figures of", "why"), gaps)))
    return "\n\n".join(parts) + "\n"


def render_tables(chosen: Sequence[Table]) -> str:
    """Return the tables in Markdown, with links as from docs/."""
    parts = []
    for paper in dict.fromkeys(one.paper for one in chosen):
        parts.append(f"## {paper}\n\n*{load_paper(paper).title}*, {load_paper(paper).source}.")
        parts += [part for one in chosen if one.paper == paper for part in _section(one)]
    return "\n\n".join(parts)


def _section(table: Table) -> Iterator[str]:
    shown = cells_of(table)
    yield f"### {table.paper} {table.name}"
    yield f"{table.title} ({table.where}). **Here: {table.status}.**"
    if table.columns:
        rows = []
        for line, (name, *values, _) in zip(table.lines(), shown.rows, strict=True):
            page = _link(line.page) if line.page else "**missing**" if line.why else ""
            rows.append((f"*{name}*" if line.whose == "paper" else name, *values, page))
        yield _table(shown._replace(rows=rows))
    if table.plot:
        yield f"![{table.title}]({FOLDER}/{table.paper}-{table.name}.svg)"
    if table.picture:
        yield f"![{table.title}]({table.picture})"
    if said := "\n".join(f"- {what}: {text}" for what, text in remarks(table)):
        yield said


def _table(cells: Cells) -> str:
    return markdown_table(cells.header, cells.rows, range(len(cells.header)), "tight")


def _link(path: str) -> str:
    below = path.removeprefix("docs/results/")
    return f"[{below[:10]}](results/{below})" if below != path else f"[{path}](../{path})"


def _anchor(paper: str, name: str) -> str:
    return f"{paper}-{name}".lower().replace(".", "")


_INTRODUCTION = """\
# Every table of the five papers

Made by `moonlynx reproduce --output docs`. Each table and figure of the five papers that this
project builds on: the paper's figures as printed (*in italics*), ours below them with the results
page that they are from, what differs, and what the whole of it takes. `moonlynx reproduce luna:2`
shows one on a terminal; every figure is [a line of CSV](reproduction.csv). Ours are never on all of
a paper's rows with its own weights: "differs" says what they are on.

*measured*: every row has a counterpart. *In part*: some have, or something else was measured for
it. *Missing*: none has. *No figures*: an example, a prompt or a drawing. Hours and dollars are
estimates from sizes and list prices, not measured."""

_COST = """\
`moonlynx cost`, with `--volume`, `--prices` and a `--machine` of your own. Below it the papers'
figures, computed again from what they assume, and the same work by ours."""

_GAPS = "Every figure of the papers that has no counterpart here, and why."
