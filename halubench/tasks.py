"""What is asked of a chat model about a row, and what became of a reply that cannot be used."""

from __future__ import annotations

from typing import Protocol

from moonlynx.judge.backends.base import ChatRequest
from moonlynx.judge.contract.types import JudgeError, Record, Text
from moonlynx.judge.judges.prompted.objects import AnyReply, read_as

from .records import QARow


class Fault(Record):
    """Why a reply, or a row, could not be used: `reason` is counted, `message` says it of this."""

    reason: Text
    message: Text = ""


class Task(Protocol):
    """What is asked about each row, and how a reply becomes a new row."""

    @property
    def prompts(self) -> tuple[str, ...]:
        """Return the versions of the prompts."""
        ...

    @property
    def max_tokens(self) -> int:
        """Return how many tokens a reply may take."""
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
        """Build the new row from a whole reply; return a fault where it cannot be used."""
        ...


def read_reply(text: str, kind: type[AnyReply]) -> AnyReply | Fault:
    """Read a reply that must be one JSON object of this kind."""
    reply = read_as(text, kind)
    if isinstance(reply, JudgeError):
        return Fault(reason=reply.code, message=reply.message)
    return reply
