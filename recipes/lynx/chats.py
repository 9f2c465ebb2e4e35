"""Rows with reasoning traces as chats: what the judge is asked, and what it should reply."""

import json
import random
from collections.abc import Sequence
from typing import Any

from moonlynx.halubench.reasoning import make_target
from moonlynx.halubench.records import QARow
from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.lynx import REPLY_KEYS, ReplyForm, build_prompt

from ..chat.fitting import Chat, Fitting, fit_chats
from .settings import LynxRun


def chat_of(row: QARow, form: ReplyForm = "reasoning-first") -> Chat:
    """Return the chat of a labelled row: the judge's own prompt and the reply it parses.

    The reply has no blanks between JSON's parts, since vLLM's schema lets none through: a model
    that has learned to write them would go wrong at the first.

    Raises:
        BadInput: the row has no label, or no reasoning where the reply has some.
    """
    example = Example(question=row.question, context=row.context, answer=row.answer)
    target = json.loads(make_target(row, REPLY_KEYS[form]))
    reply = json.dumps(target, ensure_ascii=False, separators=(",", ":"))
    return {
        "prompt": [{"role": "user", "content": build_prompt(example)}],
        "completion": [{"role": "assistant", "content": reply}],
    }


def preferences_of(
    rows: Sequence[QARow], form: ReplyForm = "reasoning-first"
) -> list[tuple[str, Chat]]:
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
            own, wrong = chat_of(row, form), chat_of(other, form)["completion"]
            chat = {"prompt": own["prompt"], "chosen": own["completion"], "rejected": wrong}
            found.append((row.id, chat))
    return found


def shuffle_labels(rows: Sequence[QARow], seed: int) -> list[QARow]:
    """Return the rows, each with the label and the reasoning of one drawn without replacement."""
    drawn = random.Random(seed).sample(rows, len(rows))  # noqa: S311
    return [
        row.model_copy(update={"label": other.label, "reasoning": other.reasoning})
        for row, other in zip(rows, drawn, strict=True)
    ]


def fit(rows: Sequence[QARow], run: LynxRun, tokenizer: Any) -> Fitting:
    """Write the rows as the run's chats and leave out those over its `max_length` tokens.

    With a `preference` the chats are preferences. A row is never cut: its reply would be lost, or
    what the reply follows from.

    Raises:
        BadInput: a row has no label, or no reasoning where the reply has some.
    """
    if run.preference is None:
        written = [(row.id, chat_of(row, run.reply)) for row in rows]
    else:
        written = preferences_of(rows, run.reply)
    return fit_chats(written, run, tokenizer)
