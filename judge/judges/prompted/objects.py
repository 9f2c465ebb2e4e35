"""Reading replies: one JSON object, and in it a value for each key that was asked for.

What cannot be read is an error of its own, never a score. A reply may be in a code fence; nothing
else may be beside the object.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from ...backends.base import ChatReply
from ...contract.types import ErrorCode, JudgeError, first_fault
from ...prompts.parsing import encodable, shorten
from ..detectors.asking import fault_of

AnyReply = TypeVar("AnyReply", bound=BaseModel)
_FENCE = re.compile(r"\s*+```(?:json)?+\s(.*)```\s*+", re.DOTALL | re.IGNORECASE)


def keyed_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of an object that has all of the properties and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_as(text: str, kind: type[AnyReply]) -> AnyReply | JudgeError:
    """Read a text that must be one JSON object of this kind; `unparsed`, with the field, if not."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        where, message = first_fault(error, "reply")
        return fault_in(shorten(f"{where}: {message}"))


class _GivenTwice(ValueError):
    """An object has a key twice."""


def read_object(reply: ChatReply) -> dict[str, Any] | JudgeError:
    """Read the reply's JSON object, or say why there is none to read.

    Errors: those of the backend, `truncated`, `refused`; `contradictory` where a key is given
    twice; else `unparsed`.
    """
    if fault := fault_of(reply):
        return fault
    fenced = _FENCE.fullmatch(reply.text)
    try:
        value = json.loads(
            fenced[1] if fenced else reply.text,
            object_pairs_hook=_unique,
            parse_int=float,
            parse_constant=_refuse,
        )
    except _GivenTwice:
        return fault_in(f"the reply gives a key twice: {shorten(reply.text)!r}", "contradictory")
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return value
    return fault_in(f"the reply is no JSON object: {shorten(reply.text)!r}")


def read_flag(value: dict[str, Any], key: str) -> bool | JudgeError:
    """Read true or false."""
    found = value.get(key)
    return found if isinstance(found, bool) else _missing(key, found)


def read_text(value: dict[str, Any], key: str) -> str | JudgeError:
    """Read a string."""
    found = value.get(key)
    return encodable(found) if isinstance(found, str) else _missing(key, found)


def read_texts(value: dict[str, Any], key: str) -> list[str] | JudgeError:
    """Read a list of strings, each made one line; blank ones are left out."""
    found = value.get(key)
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        return _missing(key, found)
    return [line for text in found if (line := " ".join(encodable(text).split()))]


def read_whole(value: dict[str, Any], key: str, least: int, most: int) -> int | JudgeError:
    """Read a whole number from `least` to `most`."""
    found = value.get(key)
    if isinstance(found, float) and found.is_integer() and least <= found <= most:
        return int(found)
    return _missing(key, found)


def fault_in(message: str, code: ErrorCode = "unparsed") -> JudgeError:
    """Return the error of a reply without a verdict."""
    return JudgeError(code=code, message=message)


def _missing(key: str, found: object) -> JudgeError:
    if found is None:
        return fault_in(f"the reply has no {key!r}")
    return fault_in(f"the reply's {key!r} is not what was asked for: {shorten(str(found))!r}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise _GivenTwice
    return dict(pairs)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")
