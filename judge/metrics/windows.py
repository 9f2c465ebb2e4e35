"""Inputs longer than the model, in windows: the longest of the fields that may be cut, cut.

Documents stay whole where they fit, and a window holds as many as go in; one that does not fit is
cut into pieces that overlap by an eighth. Nothing is ever left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..contract.types import JudgeError, MetricInput
from .definition import Cut, Windows
from .prompt import Encoded, Prompter

_OVERLAP = 8  # the share of a piece that the next repeats is one in this many
_HEADING = 16  # tokens of a document's heading
_LEAST = 32  # tokens of a piece that still say something
_SHRINK = 0.9  # a text cut in pieces may take more tokens than it did whole


def windows(
    prompter: Prompter, one: MetricInput, how: Windows, positions: int
) -> list[Encoded] | JudgeError:
    """Write the prompts of an input's windows, each shorter than `positions`.

    Returns:
        The prompts, in the order of the text, or `too_long` where what may not be cut leaves no
        room.
    """
    lengths = {field: _length(prompter, one, field) for field in how.cut}
    field = max(how.cut, key=lambda name: lengths[name])
    frame = prompter.encode(_with(one, field, ["."]), positions)
    if isinstance(frame, JudgeError):
        return frame
    room = positions - len(frame.ids) - 1
    while room >= _LEAST:
        parts = [
            prompter.encode(_with(one, field, texts), positions)
            for texts in _portions(prompter, _texts(one, field), room)
        ]
        fitting = [part for part in parts if isinstance(part, Encoded)]
        if len(fitting) == len(parts):
            return fitting
        room = int(room * _SHRINK)
    message = f"all but {field} has {len(frame.ids)} tokens, which leaves no room for a window"
    return JudgeError(code="too_long", message=f"{message} within {positions}")


def _length(prompter: Prompter, one: MetricInput, field: Cut) -> int:
    return sum(prompter.count(text) for text in _texts(one, field))


def _texts(one: MetricInput, field: Cut) -> Sequence[str]:
    value: str | Sequence[str] | None = getattr(one, field)
    return (value,) if isinstance(value, str) else value or ()


def _with(one: MetricInput, field: Cut, texts: Sequence[str]) -> MetricInput:
    value = tuple(texts) if field == "context" else texts[0]
    return one.model_copy(update={field: value})


def _portions(prompter: Prompter, texts: Sequence[str], room: int) -> list[list[str]]:
    """Group texts, or the pieces of long ones, into portions of at most `room` tokens."""
    portions: list[list[str]] = []
    left = 0
    for text in texts:
        size = room - _HEADING
        pieces = (
            [text] if prompter.count(text) <= size else prompter.cut(text, size, size // _OVERLAP)
        )
        for piece in pieces:
            taken = prompter.count(piece) + _HEADING
            if taken > left or not portions:
                portions.append([])
                left = room
            portions[-1].append(piece)
            left -= taken
    return portions
