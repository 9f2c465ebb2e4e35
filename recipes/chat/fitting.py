"""Chats that a model is fine-tuned on, within the length of the run."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from moonlynx.judge.contract.types import MoonlynxError

from .settings import Run

Chat = dict[str, list[dict[str, str]]]
"""`prompt` and `completion`, or `prompt`, `chosen` and `rejected`: messages, as TRL reads them."""


class NothingToTrainOn(MoonlynxError, ValueError):
    """No row is left; says why."""


class Fitting(NamedTuple):
    """The chats within the length, their tokens, and the ids of rows left out as too long."""

    chats: list[Chat]
    tokens: list[int]
    too_long: list[str]


def fit_chats(written: Sequence[tuple[str, Chat]], run: Run, tokenizer: Any) -> Fitting:
    """Leave out the chats over `max_length` tokens; each comes with its row's id."""
    chats, tokens, too_long = [], [], []
    for name, chat in written:
        length = _length(chat, tokenizer)
        if length > run.max_length:
            too_long.append(name)
            continue
        chats.append(chat)
        tokens.append(length)
    return Fitting(chats, tokens, too_long)


def _length(chat: Chat, tokenizer: Any) -> int:
    """Return the tokens of prompt and longest reply as the template writes them."""
    replies = [messages for part, messages in chat.items() if part != "prompt"]
    encoded = [
        tokenizer.apply_chat_template([*chat["prompt"], *messages], tokenize=True, return_dict=True)
        for messages in replies
    ]
    return max(len(each["input_ids"]) for each in encoded)
