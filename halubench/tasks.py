"""What is asked of a chat model about a row, and what became of a reply that cannot be used."""

from __future__ import annotations

from typing import Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from moonlynx.judge.backends.base import ChatRequest
from moonlynx.judge.parsing import shorten
from moonlynx.judge.types import Record, Text

from .records import QARow

AnyReply = TypeVar("AnyReply", bound=BaseModel)


class Fault(Record):
    """Why a reply, or a row, could not be used: `reason` is counted, `message` says it of this."""

    reason: Text
    message: Text = ""


class Task(Protocol):
    """What is asked about each row, and how a reply becomes a new row."""

    @property
    def prompts(self) -> tuple[str, ...]:
        """Name the prompts by version."""
        ...

    @property
    def max_tokens(self) -> int:
        """Say how many tokens a reply may take."""
        ...

    def request(self, row: QARow, attempt: int) -> ChatRequest:
        """Ask about the row: greedily at first; after that another opinion is drawn each time.

        Raises:
            BadInput: nothing can be asked about this row.
        """
        ...

    def likely_tokens(self, row: QARow) -> float:
        """Estimate how long the reply will be."""
        ...

    def read(self, row: QARow, text: str) -> QARow | Fault:
        """Make the new row of a whole reply; a fault where it cannot be used."""
        ...


def read_reply(text: str, kind: type[AnyReply]) -> AnyReply | Fault:
    """Read a reply that must be one JSON object of this kind."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "reply"
        return Fault(reason="unparsed", message=shorten(f"{where}: {first['msg']}"))
