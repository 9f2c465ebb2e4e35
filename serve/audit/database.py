"""The audit's database: verdicts, and user feedback on them.

All times are UTC. Without texts, a verdict's reasons, its spans' texts and its error's message are
left out, and so is the id that the caller gave it, which may name a person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.types import BadInput, Example, MoonlynxError, Score, Verdict

from ..wire import COMPLETION, Feedback, Kept, example_sha256
from .tables import Tables

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

_TEXTS: dict[str, Any] = {
    "id": True,
    "reasoning": True,
    "spans": {"__all__": {"text"}},
    "error": {"message"},
}


class AuditError(MoonlynxError, RuntimeError):
    """The database cannot be opened, read or written. The message holds no judged text."""


class NotKept(MoonlynxError, LookupError):
    """No verdict of this id or hash is kept."""


class Given(NamedTuple):
    """A verdict that was returned to a client."""

    id: str
    time: datetime
    example: Example
    verdict: Verdict


class Correction(NamedTuple):
    """User feedback."""

    example_sha256: str
    example: str | None  # as JSON; None where its texts were not stored
    label: Score
    # Start and end of what is unsupported; None where not stated.
    spans: list[tuple[int, int]] | None


class Day(NamedTuple):
    """A judge's verdicts of one day: counts, and sums of the probabilities there were."""

    judge: str
    version: str
    day: date
    verdicts: int
    scored: int
    passed: int
    probabilities: int
    total: float
    squares: float


class Database:
    """All access to the database. Its methods may be called from any thread."""

    def __init__(self, url: str, *, make: bool) -> None:
        """Open it, by a URL as SQLAlchemy takes it; with `make`, make the tables that are missing.

        Raises:
            AuditError: it cannot be opened, or holds no audit and is not to be made.
            MissingExtra: SQLAlchemy is not installed.
        """
        try:
            self._tables = Tables()
        except ImportError:
            raise MissingExtra("The audit", "serve") from None
        parsed = _parse(url)
        self.name = parsed.render_as_string(hide_password=True)
        if not make and parsed.get_backend_name() == "sqlite":
            file = Path(parsed.database or "")
            if not file.is_file():
                raise AuditError(f"{self.name}: there is no file {file}")
        self._engine = _engine(parsed)
        with self._transaction() as connection:
            if make:
                self._tables.make(connection)
            elif not self._tables.exist(connection):
                raise AuditError(f"{self.name} has no audit; `moonlynx serve --audit` creates one")

    def close(self) -> None:
        """Close its connections."""
        self._engine.dispose()

    def add(self, given: Sequence[Given], *, texts: bool) -> None:
        """Store verdicts, all or none; with `texts` also what was judged and all reasons."""
        rows = [_row(one, texts) for one in given]
        with self._transaction() as connection:
            connection.execute(self._tables.verdicts.insert(), rows)

    def correct(self, feedback: Feedback) -> Kept:
        """Store user feedback."""
        table = self._tables.verdicts
        if feedback.verdict_id is not None:
            meant = table.c.id == feedback.verdict_id.removeprefix(COMPLETION)
        else:
            meant = table.c.example_sha256 == feedback.example_sha256
        with self._transaction() as connection:
            newest = table.select().where(meant).order_by(table.c.time.desc()).limit(1)
            found = connection.execute(newest).one_or_none()
            if found is None:
                raise NotKept("no verdict with this id or hash is stored (any more)")
            for number, span in enumerate(feedback.spans or ()):
                if span.end > found.answer_length:
                    message = f"the answer has {found.answer_length} characters, not {span.end}"
                    raise BadInput("bad_input", f"spans.{number}.end", message)
            spans = feedback.spans
            row = {
                "id": uuid4().hex,
                "verdict_id": found.id,
                "time": now(),
                "label": feedback.label,
                "spans": spans and [(span.start, span.end) for span in spans],
                "comment": feedback.comment,
            }
            connection.execute(self._tables.feedback.insert(), [row])
            return Kept(verdict_id=found.id, example_sha256=found.example_sha256)

    def corrections(self) -> list[Correction]:
        """Return the stored feedback, oldest first."""
        with self._transaction() as connection:
            found = connection.execute(self._tables.corrections())
            return [
                Correction(name, example, label, spans and [(start, end) for start, end in spans])
                for name, example, label, spans in found
            ]

    def days(self) -> list[Day]:
        """Count the verdicts of each judge and day, oldest day first."""
        with self._transaction() as connection:
            return [
                Day(judge, version, date.fromisoformat(str(day)), *figures)
                for judge, version, day, *figures in connection.execute(self._tables.days())
            ]

    def prune(self, before: datetime) -> int:
        """Delete the verdicts before a time, and the feedback on them; return how many."""
        verdicts, feedback = self._tables.verdicts, self._tables.feedback
        old = verdicts.c.time < before
        with self._transaction() as connection:
            ids = verdicts.select().with_only_columns(verdicts.c.id).where(old)
            connection.execute(feedback.delete().where(feedback.c.verdict_id.in_(ids)))
            return connection.execute(verdicts.delete().where(old)).rowcount

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        from sqlalchemy.exc import OperationalError, SQLAlchemyError

        try:
            with self._engine.begin() as connection:
                yield connection
        except OperationalError as error:
            raise AuditError(f"{self.name}: {str(error.orig).strip()}") from None
        except SQLAlchemyError as error:  # what it says may quote the row
            raise AuditError(f"{self.name}: {type(error).__name__}") from None


def now() -> datetime:
    """Return the time as the tables hold it: UTC, without a zone."""
    return datetime.now(UTC).replace(tzinfo=None)


def _row(given: Given, texts: bool) -> dict[str, Any]:
    _, time, example, verdict = given
    return {
        "id": given.id,
        "time": time,
        "example_sha256": example_sha256(example),
        "answer_length": len(example.answer),
        "judge": verdict.judge.name,
        "version": verdict.judge.version,
        "score": verdict.score,
        "probability": verdict.probability,
        "verdict": verdict.model_dump_json(exclude=None if texts else _TEXTS),
        "example": example.model_dump_json(exclude_defaults=True) if texts else None,
    }


def _parse(url: str) -> URL:
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url.encode()  # a file's name can hold what UTF-8 cannot
        parsed = make_url(url)
    except (ArgumentError, UnicodeEncodeError):
        message = "write it as sqlite:///audit.db or postgresql+psycopg://user@host/name"
        raise AuditError(f"the audit's database is not a URL; {message}") from None
    if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise AuditError("an audit in memory would be lost; name a file: sqlite:///audit.db")
    return parsed


def _engine(url: URL) -> Engine:
    from sqlalchemy import create_engine, event
    from sqlalchemy.exc import ArgumentError

    name = url.drivername
    try:
        # Parameters are texts: no error may quote them.
        engine = create_engine(url, hide_parameters=True, pool_pre_ping=True)
    except ArgumentError:  # NoSuchModuleError among them
        raise AuditError(f"{name} is not a database that SQLAlchemy supports") from None
    except ModuleNotFoundError as error:
        raise AuditError(f"{name} needs a driver: pip install {error.name}") from None
    if url.get_backend_name() == "sqlite":

        @event.listens_for(engine, "connect")
        def _let_others_read(connection: Any, _: object) -> None:
            connection.execute("PRAGMA journal_mode = WAL")

    return engine
