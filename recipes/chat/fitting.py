"""Chats that a model is fine-tuned on, within the length of the run."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from moonlynx.judge.contract.types import MoonlynxError

from .settings import Run

Chat = dict[str, list[dict[str, str]]]
"""`prompt` and `completion`, or `prompt`, `chosen` and `rejected`: messages, as TRL reads them."""


class NothingToTrainOn(MoonlynxError, ValueError):
    """No row is left; says why."""


class Length(NamedTuple):
    """The tokens of a chat, and those of them whose logits are computed."""

    tokens: int
    scored: int


class Fitting(NamedTuple):
    """The chats within the length, their lengths, and the ids of rows left out as too long."""

    chats: list[Chat]
    lengths: list[Length]
    too_long: list[str]


def fit_chats(written: Sequence[tuple[str, Chat]], run: Run, tokenizer: Any) -> Fitting:
    """Leave out the chats over `max_length` tokens; each comes with its row's id."""
    chats, lengths, too_long = [], [], []
    for name, chat in written:
        length = _length(chat, tokenizer)
        if length.tokens > run.max_length:
            too_long.append(name)
            continue
        chats.append(chat)
        lengths.append(length)
    return Fitting(chats, lengths, too_long)


def _length(chat: Chat, tokenizer: Any) -> Length:
    """Return the length of prompt and longest reply as the template writes them.

    Of a prompt and its completion TRL's output layer reads the completion alone, of a prompt and
    two replies everything.
    """

    def count(messages: list[dict[str, str]], *, asking: bool = False) -> int:
        encoded = tokenizer.apply_chat_template(
            messages, tokenize=True, return_dict=True, add_generation_prompt=asking
        )
        return len(encoded["input_ids"])

    asked = chat["prompt"]
    longest = max(count([*asked, *told]) for part, told in chat.items() if part != "prompt")
    scored = longest - count(asked, asking=True) if "completion" in chat else longest
    return Length(longest, scored)
