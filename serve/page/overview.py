"""A file's verdicts as HTML: how far it came, the counts, a histogram and a table."""

from __future__ import annotations

from dataclasses import dataclass, field

from moonlynx.judge.batch.judging import Tally
from moonlynx.judge.contract.types import BadInput, Verdict
from moonlynx.judge.rows.examples import Row

from .markup import escape
from .verdict import render_error

_BINS = 10
_SHOWN = 200  # rows of the table; the file to download holds all
_FAULTS = 20  # rows that could not be read, listed one by one


@dataclass
class Overview:
    """What is kept of a file's verdicts to show them; grows with what is shown, not the file."""

    rows: int
    tally: Tally = field(default_factory=Tally)
    bins: list[int] = field(default_factory=lambda: [0] * _BINS)
    faults: list[str] = field(default_factory=list)
    table: list[str] = field(default_factory=list)

    def add(self, row: Row, verdict: Verdict) -> None:
        """Add the verdict on a row."""
        self.tally.add(verdict)
        if verdict.probability is not None:
            self.bins[min(int(_BINS * verdict.probability), _BINS - 1)] += 1
        if isinstance(row.example, BadInput) and len(self.faults) < _FAULTS:
            self.faults.append(str(row.example))
        if len(self.table) < _SHOWN:
            self.table.append(_table_row(row, verdict))

    def render(self) -> str:
        """Return the progress, and once the last row is judged all that was found."""
        shown = _progress(self.tally.rows, self.rows) + _counts(self.tally)
        if self.tally.rows < self.rows:
            return shown
        return shown + self._faults() + _histogram(self.bins) + self._table()

    def _faults(self) -> str:
        read = "".join(render_error(fault) for fault in self.faults)
        more = self.tally.unscored["bad_input"] - len(self.faults)
        return read + (f"<p>… and {more:,} more such rows.</p>" if more > 0 else "")

    def _table(self) -> str:
        more = self.rows - len(self.table)
        rest = f"<p>The other {more:,} rows are in the download.</p>" if more else ""
        return (
            '<div class="mx-table" role="region" aria-label="Verdicts" tabindex="0"><table>'
            "<thead><tr><th>Line</th><th>Id</th><th>Verdict</th><th>P(hallucinated)</th>"
            f"<th>Unsupported, or why unscored</th></tr></thead><tbody>{''.join(self.table)}"
            f"</tbody></table></div>{rest}"
        )


def _progress(done: int, rows: int) -> str:
    return (
        f'<p class="mx-progress"><progress max="{rows}" value="{done}" aria-label="Rows judged">'
        f'</progress> <span role="status">{done:,} of {rows:,} rows</span></p>'
    )


def _counts(tally: Tally) -> str:
    unscored = tally.unscored.total()
    reasons = ", ".join(f"{code} {count:,}" for code, count in sorted(tally.unscored.items()))
    why = f" ({reasons})" if reasons else ""
    return (
        f'<p class="mx-counts"><b class="mx-pass">PASS {tally.passed:,}</b> '
        f'<b class="mx-fail">FAIL {tally.failed:,}</b> '
        f'<b class="mx-unscored">unscored {unscored:,}</b>{escape(why)}</p>'
    )


def _histogram(bins: list[int]) -> str:
    if not any(bins):
        return "<p>No row has a calibrated probability.</p>"
    bars = "".join(_bar(number, count, max(bins)) for number, count in enumerate(bins))
    return (
        '<figure class="mx-histogram"><figcaption>Rows by P(hallucinated)</figcaption>'
        f"<ol>{bars}</ol></figure>"
    )


def _bar(number: int, count: int, highest: int) -> str:
    low, high = number / _BINS, (number + 1) / _BINS
    return (
        f'<li><span class="mx-count">{count:,}</span>'
        f'<span class="mx-column" style="height:{100 * count / highest:.1f}%"></span>'
        f'<span class="mx-range">{low:.1f}<span>–{high:.1f}</span></span></li>'
    )


def _table_row(row: Row, verdict: Verdict) -> str:
    probability = "" if verdict.probability is None else f"{verdict.probability:.2f}"
    spans = " … ".join(span.text for span in verdict.spans)
    why = f"{verdict.error.code}: {verdict.error.message}" if verdict.error else spans
    score = verdict.score or "unscored"
    row_id = "" if verdict.id is None else str(verdict.id)
    return (
        f"<tr><td>{row.line}</td><td>{escape(row_id)}</td>"
        f'<td class="mx-{score.lower()}">{score}</td><td>{probability}</td>'
        f'<td dir="auto">{escape(why)}</td></tr>'
    )
