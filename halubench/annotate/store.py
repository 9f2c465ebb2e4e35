"""Annotations in an SQLite database, which belongs to one file of rows.

Each save is a transaction of its own. The journal is a write-ahead log, so that several annotators,
also of several servers on one machine, read and write at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from moonlynx.judge.contract.types import MoonlynxError
from moonlynx.judge.files.stored import sha256_file

from .records import Annotation

_APPLICATION_ID = 0x4D4C584E  # "MLXN", in the header of a database that is ours
_VERSION = 1
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS file "
    "(only INTEGER PRIMARY KEY CHECK (only = 1), sha256 TEXT NOT NULL, name TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS annotation "
    "(annotator TEXT NOT NULL, number INTEGER NOT NULL, done INTEGER NOT NULL, "
    "body TEXT NOT NULL, PRIMARY KEY (annotator, number))",
    f"PRAGMA application_id = {_APPLICATION_ID}",
    f"PRAGMA user_version = {_VERSION}",
)
_SAVE = """
INSERT INTO annotation (annotator, number, done, body) VALUES (?, ?, ?, ?)
ON CONFLICT (annotator, number) DO UPDATE SET done = excluded.done, body = excluded.body WHERE ?
"""


class StoreError(MoonlynxError):
    """The database cannot be used, or is one of something else."""


class AlreadyLabelled(MoonlynxError):
    """A row was labelled before, and its label can no longer be changed."""


class Store:
    """A database of annotations. Rows are known by their number in the file, from 1.

    Args:
        path: of the database.
        file: the rows that it belongs to, for which it is created where there is none; None to
            take a database as it is.

    Raises:
        StoreError: it is not a database of annotations, or one of another file.
    """

    def __init__(self, path: Path, file: Path | None = None) -> None:
        self.path = path
        with self._connect() as database:
            if file is not None and not database.execute("SELECT 1 FROM sqlite_master").fetchone():
                self._create(database, file)
            self._check_kind(database)
            if file is not None:
                self._check_file(database, file)

    def annotators(self) -> dict[str, int]:
        """Return the annotators by name, with the number of rows that each has done."""
        with self._connect() as database:
            return dict(
                database.execute(
                    "SELECT annotator, sum(done) FROM annotation GROUP BY annotator ORDER BY 1"
                )
            )

    def done(self, annotator: str) -> set[int]:
        """Return the numbers of the rows that an annotator has done."""
        with self._connect() as database:
            found = database.execute(
                "SELECT number FROM annotation WHERE annotator = ? AND done", (annotator,)
            )
            return {number for (number,) in found}

    def find(self, annotator: str, number: int) -> Annotation | None:
        """Return what an annotator said of a row, None if nothing yet."""
        with self._connect() as database:
            found = database.execute(
                "SELECT body FROM annotation WHERE annotator = ? AND number = ?",
                (annotator, number),
            ).fetchone()
        return None if found is None else Annotation.model_validate_json(found[0])

    def save(self, number: int, annotation: Annotation, *, done: bool, replace: bool) -> None:
        """Save what an annotator said of a row.

        Args:
            number: of the row.
            annotation: what was said.
            done: whether nothing is left to say.
            replace: whether an earlier annotation is written over.

        Raises:
            AlreadyLabelled: there is an earlier one, and it is not to be written over.
            StoreError: the database cannot be written.
        """
        values = (annotation.annotator, number, done, annotation.model_dump_json(), replace)
        with self._connect() as database:
            saved = database.execute(_SAVE, values).rowcount
        if not saved:
            raise AlreadyLabelled(
                f"row {number} was labelled before, and what its makers say was shown; "
                "the label stays as it is: write in the note what you would change"
            )

    def annotations(self) -> list[Annotation]:
        """Return all annotations, by row and annotator."""
        with self._connect() as database:
            found = database.execute("SELECT body FROM annotation ORDER BY number, annotator")
            return [Annotation.model_validate_json(body) for (body,) in found]

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        """Open the database for one transaction, which is rolled back where it fails."""
        try:
            with closing(sqlite3.connect(self.path)) as database, database:
                yield database
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: {error}") from error

    def _create(self, database: sqlite3.Connection, file: Path) -> None:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("BEGIN IMMEDIATE")  # two servers may start at once
        for statement in _SCHEMA:
            database.execute(statement)
        database.execute(
            "INSERT OR IGNORE INTO file VALUES (1, ?, ?)", (sha256_file(file), file.name)
        )

    def _check_kind(self, database: sqlite3.Connection) -> None:
        (kind,) = database.execute("PRAGMA application_id").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if (kind, version) != (_APPLICATION_ID, _VERSION):
            raise StoreError(
                f"{self.path}: is not a database of annotations; give one that "
                "`moonlynx halubench annotate` made, or a name that is free"
            )

    def _check_file(self, database: sqlite3.Connection, file: Path) -> None:
        sha256, name = database.execute("SELECT sha256, name FROM file").fetchone()
        if sha256 != sha256_file(file):
            raise StoreError(
                f"{self.path}: holds labels of another file than {file} (of {name}, SHA-256 "
                f"{sha256[:12]}…); give that file as it was, or another --database"
            )
