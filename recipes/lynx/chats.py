"""Rows with reasoning traces as chats: what the judge is asked, and what it should reply."""

import json
from collections.abc import Sequence
from typing import Any

from moonlynx.halubench.reasoning import make_target
from moonlynx.halubench.records import QARow
from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.lynx import build_prompt

from ..chat.fitting import Chat, Fitting, fit_chats
from ..chat.settings import Run


def chat_of(row: QARow) -> Chat:
    """Return the chat of a labelled row: the judge's own prompt and the reply it parses.

    The reply has no blanks between JSON's parts, since vLLM's schema lets none through: a model
    that has learned to write them would go wrong at the first.

    Raises:
        BadInput: the row has no label or no reasoning.
    """
    example = Example(question=row.question, context=row.context, answer=row.answer)
    reply = json.dumps(json.loads(make_target(row)), ensure_ascii=False, separators=(",", ":"))
    return {
        "prompt": [{"role": "user", "content": build_prompt(example)}],
        "completion": [{"role": "assistant", "content": reply}],
    }


def preferences_of(rows: Sequence[QARow]) -> list[tuple[str, Chat]]:
    """Return each row, by its id, with its own reply chosen over that to its counterpart.

    Rows over one question of one group that are labelled otherwise are counterparts: the reasoning
    that is right of the one is wrong of the other. Rows without any are left out.
    """
    by_question: dict[tuple[str, str], list[QARow]] = {}
    for row in rows:
        by_question.setdefault((row.group, row.question), []).append(row)
    found = []
    for row in rows:
        others = by_question[row.group, row.question]
        other = next((other for other in others if other.label != row.label), None)
        if other is not None:
            own, wrong = chat_of(row), chat_of(other)["completion"]
            chat = {"prompt": own["prompt"], "chosen": own["completion"], "rejected": wrong}
            found.append((row.id, chat))
    return found


def fit(rows: Sequence[QARow], run: Run, tokenizer: Any) -> Fitting:
    """Write the rows as the run's chats and leave out those over its `max_length` tokens.

    With a `preference` the chats are preferences. A row is never cut: its reply would be lost, or
    what the reply follows from.

    Raises:
        BadInput: a row has no label or no reasoning.
    """
    if run.preference is None:
        written = [(row.id, chat_of(row)) for row in rows]
    else:
        written = preferences_of(rows)
    return fit_chats(written, run, tokenizer)
