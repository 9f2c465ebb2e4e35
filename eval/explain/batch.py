"""Read a file of verdicts with the rows that were judged, and the time of each where it has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from moonlynx.judge.batch.judging import read_verdicts
from moonlynx.judge.contract.types import BadInput, Example, Verdict
from moonlynx.judge.rows.fields import FieldMap, id_of, read_example
from moonlynx.judge.rows.formats import read_raw
from moonlynx.judge.rows.names import normalise

_TIMES = {"time", "timestamp", "createdat", "created", "date", "datetime"}
_MILLISECONDS = 1e11  # a time from here on is in them


class Judged(NamedTuple):
    """A verdict and its row; `number` is its place in the file, from 1."""

    number: int
    verdict: Verdict
    example: Example | None = None
    time: datetime | None = None


def read_batch(
    verdicts: Path,
    rows: Path | None,
    fields: FieldMap,
    expand: Callable[[Example], Example] | None = None,
) -> list[Judged]:
    """Read verdicts in order, each with its row where rows are given.

    Args:
        verdicts: as `moonlynx judge --output` writes them.
        rows: what was judged; a row that cannot be read stays without texts, as its verdict says.
        fields: how rows are read.
        expand: returns an example with the texts that evidence is in, where it names them.

    Raises:
        BadInput: there are no verdicts, or the rows are not those that were judged.
    """
    found = list(read_verdicts(verdicts))
    if not found:
        raise BadInput("bad_input", str(verdicts), "holds no verdicts; give at least one")
    if rows is None:
        return [Judged(number, verdict) for number, verdict in enumerate(found, start=1)]
    judged: list[Judged] = []
    read = 0
    for read, raw in enumerate(read_raw(rows, fields.check_columns), start=1):
        if read > len(found):
            continue
        verdict, value, example = found[read - 1], None, None
        try:
            value = raw.parse()
            example = read_example(value, fields)
            example = expand(example) if expand else example
        except BadInput:
            pass  # its verdict is unscored, and says why
        if (of := id_of(value, fields)) != verdict.id:
            message = f"has the id {of!r}, its verdict {verdict.id!r}; give the rows that it judged"
            raise BadInput("bad_input", f"{rows}, {raw.unit} {raw.number}", message)
        judged.append(Judged(read, verdict, example, _time_of(value)))
    if read != len(found):
        message = f"holds {read} rows for {len(found)} verdicts; give the rows that were judged"
        raise BadInput("bad_input", str(rows), message)
    return judged


def _time_of(row: Any) -> datetime | None:
    """Return a row's time: ISO 8601, or seconds or milliseconds since 1970."""
    if not isinstance(row, Mapping):
        return None
    value = next((row[name] for name in row if normalise(name) in _TIMES), None)
    try:
        if isinstance(value, str) and not value.replace(".", "", 1).isdigit():
            time = datetime.fromisoformat(value.strip())
            return time if time.tzinfo else time.replace(tzinfo=UTC)
        seconds = float(value)  # type: ignore[arg-type]  # TypeError is caught
        return datetime.fromtimestamp(seconds / (1_000 if seconds > _MILLISECONDS else 1), UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
