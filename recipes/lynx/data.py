"""Rows with reasoning traces as chats: what the judge is asked, and what it should reply."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from moonlynx.halubench.records import QARow
from moonlynx.judge.lynx import build_prompt
from moonlynx.judge.types import Example, MoonlynxError, Score

Chat = dict[str, list[dict[str, str]]]
"""`prompt` and `completion`, each a list of messages, as TRL reads them."""


class BadRow(MoonlynxError, ValueError):
    """A row of a training file that cannot be trained on: says which line and field."""


class Fitting(NamedTuple):
    """The chats that go into the length, and what that left out.

    Attributes:
        chats: in order.
        tokens: of prompt and reply, of each chat.
        too_long: ids of the rows that were left out.
    """

    chats: list[Chat]
    tokens: list[int]
    too_long: list[str]


def read_rows(path: Path) -> Iterator[QARow]:
    """Read labelled rows with reasoning from JSONL.

    Raises:
        BadRow: the file cannot be read, or a line is no such row.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise BadRow(f"cannot read {path}: {error.strerror}") from None
    for number, line in enumerate(lines, 1):
        try:
            row = QARow.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(str(part) for part in first["loc"])
            raise BadRow(f"{path}, line {number}: {field}: {first['msg']}") from None
        for field in ("label", "reasoning"):
            if not getattr(row, field):
                raise BadRow(f"{path}, line {number}: {field}: a row to train on needs one")
        yield row


def chat_of(row: QARow) -> Chat:
    """Give the chat of a labelled row: the judge's own prompt and the reply it parses."""
    example = Example(question=row.question, context=row.context, answer=row.answer)
    assert row.label is not None
    return {
        "prompt": [{"role": "user", "content": build_prompt(example)}],
        "completion": [{"role": "assistant", "content": reply(row.reasoning, row.label)}],
    }


def reply(reasoning: Sequence[str], score: Score) -> str:
    """Write the JSON object that the judge is to give."""
    return json.dumps({"REASONING": list(reasoning), "SCORE": score}, ensure_ascii=False)


def fit(rows: Sequence[QARow], tokenizer: Any, max_length: int) -> Fitting:
    """Write the rows as chats and leave out those over `max_length` tokens.

    A row is never cut: its reply would be lost, or what the reply follows from.

    Args:
        rows: labelled, with reasoning.
        tokenizer: transformers', with a chat template.
        max_length: tokens of the whole chat as its template writes it.
    """
    chats, tokens, too_long = [], [], []
    for row in rows:
        chat = chat_of(row)
        encoded = tokenizer.apply_chat_template(
            [*chat["prompt"], *chat["completion"]], tokenize=True, return_dict=True
        )
        length = len(encoded["input_ids"])
        if length > max_length:
            too_long.append(row.id)
            continue
        chats.append(chat)
        tokens.append(length)
    return Fitting(chats, tokens, too_long)
