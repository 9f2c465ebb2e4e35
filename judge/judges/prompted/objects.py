"""Reading replies: one JSON object, and in it a value for each key that was asked for.

What cannot be read is an error of its own, never a score. A reply may be in a code fence; nothing
else may be beside the object.
"""

import json
import re
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from ...backends.base import ChatReply
from ...backends.replies import fault_of
from ...contract.types import ErrorCode, JudgeError, first_fault
from ...prompts.parsing import encodable, shorten

AnyReply = TypeVar("AnyReply", bound=BaseModel)
Object = dict[str, Any] | JudgeError
"""A reply's JSON object, or why there is none; reading from it passes the error on."""
_FENCE = re.compile(r"\s*+```(?>(?:json)?)\s(.*)```\s*+", re.DOTALL | re.IGNORECASE)


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


def read_object(reply: ChatReply) -> Object:
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


def read_flag(value: Object, key: str) -> bool | JudgeError:
    """Read true or false."""
    found = _get(value, key)
    return found if isinstance(found, bool | JudgeError) else _misfit(key, found)


def read_denial(value: Object, key: str) -> float | JudgeError:
    """Read a score from true or false: 0 where it is true, 1 where it is false."""
    found = read_flag(value, key)
    return found if isinstance(found, JudgeError) else float(not found)


def read_text(value: Object, key: str) -> str | JudgeError:
    """Read a string."""
    found = _get(value, key)
    if isinstance(found, JudgeError):
        return found
    return encodable(found) if isinstance(found, str) else _misfit(key, found)


def read_texts(value: Object, key: str) -> list[str] | JudgeError:
    """Read a list of strings, each made one line; blank ones are left out."""
    found = _get(value, key)
    if isinstance(found, JudgeError):
        return found
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        return _misfit(key, found)
    return [line for text in found if (line := " ".join(encodable(text).split()))]


def read_whole(value: Object, key: str, least: int, most: int) -> int | JudgeError:
    """Read a whole number from `least` to `most`."""
    found = _get(value, key)
    if isinstance(found, JudgeError):
        return found
    if isinstance(found, float) and found.is_integer() and least <= found <= most:
        return int(found)
    return _misfit(key, found)


def fault_in(message: str, code: ErrorCode = "unparsed") -> JudgeError:
    """Return the error of a reply without a verdict."""
    return JudgeError(code=code, message=message)


def _get(value: Object, key: str) -> Any:
    """Return the value of a key; the error of an object, or of one without the key."""
    if isinstance(value, JudgeError):
        return value
    found = value.get(key)
    return fault_in(f"the reply has no {key!r}") if found is None else found


def _misfit(key: str, found: object) -> JudgeError:
    return fault_in(f"the reply's {key!r} is not what was asked for: {shorten(str(found))!r}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise _GivenTwice
    return dict(pairs)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")
