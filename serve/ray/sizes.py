"""How much text there is to judge, and batches of so much."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moonlynx.judge.contract.types import BadInput, Example
from moonlynx.judge.rows.examples import Row

_CHARACTERS = 4  # of a token, about: every judge has a tokenizer of its own


def characters(example: Example) -> int:
    """Count the characters of question, documents and answer."""
    return len(example.question) + sum(map(len, example.context)) + len(example.answer)


def by_tokens(rows: Iterable[Row], tokens: int) -> Iterator[list[Row]]:
    """Yield the rows in batches of at most about so many tokens of text, or of one row."""
    batch: list[Row] = []
    room = full = tokens * _CHARACTERS
    for row in rows:
        size = 0 if isinstance(row.example, BadInput) else characters(row.example)
        if batch and size > room:
            yield batch
            batch, room = [], full
        batch.append(row)
        room -= size
    if batch:
        yield batch
