"""The audit's tables, and the queries to them that take more than a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select


class Tables:
    """`moonlynx_verdicts`, a row for each verdict, and `moonlynx_feedback`, for each correction."""

    def __init__(self) -> None:
        """Describe them; an ImportError where SQLAlchemy is not installed."""
        import sqlalchemy as sa

        self._metadata = sa.MetaData()
        self.verdicts = sa.Table(
            "moonlynx_verdicts",
            self._metadata,
            sa.Column("id", sa.String(32), primary_key=True),
            sa.Column("time", sa.DateTime, nullable=False, index=True),
            sa.Column("example_sha256", sa.String(64), nullable=False, index=True),
            sa.Column("answer_length", sa.Integer, nullable=False),  # in code points
            sa.Column("judge", sa.Text, nullable=False),
            sa.Column("version", sa.Text, nullable=False),
            sa.Column("score", sa.String(4)),  # null: unscored
            sa.Column("probability", sa.Double),
            sa.Column("verdict", sa.Text, nullable=False),  # JSON; texts only where stored
            sa.Column("example", sa.Text),  # JSON; null unless texts are stored
        )
        self.feedback = sa.Table(
            "moonlynx_feedback",
            self._metadata,
            sa.Column("id", sa.String(32), primary_key=True),
            sa.Column("verdict_id", sa.ForeignKey(self.verdicts.c.id), nullable=False, index=True),
            sa.Column("time", sa.DateTime, nullable=False),
            sa.Column("label", sa.String(4), nullable=False),
            sa.Column("spans", sa.JSON(none_as_null=True)),  # of [start, end]; null: not stated
            sa.Column("comment", sa.Text),
        )

    def make(self, connection: Connection) -> None:
        """Create the missing tables."""
        self._metadata.create_all(connection)

    def exist(self, connection: Connection) -> bool:
        """Return whether the tables exist."""
        from sqlalchemy import inspect

        return set(self._metadata.tables) <= set(inspect(connection).get_table_names())

    def corrections(self) -> Select[Any]:
        """Ask for the fields of `Correction`, oldest first."""
        from sqlalchemy import select

        of, said = self.verdicts.c, self.feedback.c
        return (
            select(of.example_sha256, of.example, said.label, said.spans)
            .join_from(self.feedback, self.verdicts)
            .order_by(said.time, said.id)
        )

    def days(self) -> Select[Any]:
        """Ask for the fields of `Day`, by judge, version and day, oldest day first."""
        from sqlalchemy import String, func, select

        of = self.verdicts.c
        # A date in PostgreSQL, an ISO date's text in SQLite.
        by = (of.judge, of.version, func.date(of.time, type_=String).label("day"))
        return (
            select(
                *by,
                func.count(),
                func.count(of.score),
                func.count().filter(of.score == "PASS"),
                func.count(of.probability),
                func.coalesce(func.sum(of.probability), 0.0),
                func.coalesce(func.sum(of.probability * of.probability), 0.0),
            )
            .group_by(*by)
            .order_by("day", of.judge, of.version)
        )
