"""The values of tool calls, checked against the schema and against what the request says."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ...text import stems_of
from ...text.quantities import Literal, find_literals

Call = Mapping[str, Any]
"""`name` and `arguments`."""
Numbers = frozenset[Fraction]

_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")  # of names such as getUserById and get_user.by_id
_NAME = re.compile(r"(?<!^)(?<![.!?:]\s)\b[A-Z][\w-]*\w|(?<=\")[^\"]+(?=\")|(?<=\s')[^']+(?=')")
_COMPARED = 100  # calls at most that are compared with each other
_NEAR = 4  # words of the request before a value, and half as many after it
_KINDS: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}
_PYTHON = {"float": "number", "dict": "object", "tuple": "array", "list": "array"}


def stems_with_parts(text: str) -> frozenset[str]:
    """Return the stems of a text's content words, and of the words that a name is made of."""
    spaced = " ".join(_PARTS.findall(text)) if "_" in text or "." in text else text
    return frozenset(stems_of(f"{text} {spaced}"))


def disallowed(call: Call, properties: Mapping[str, Any]) -> float:
    """Return the share of a call's values that the tool's schema does not allow."""
    given = call["arguments"]
    wrong = sum(not _allowed(value, properties.get(name)) for name, value in given.items())
    return wrong / max(1, len(given))


def _allowed(value: Any, schema: Any) -> bool:
    """Return whether a value has its schema's type and is among its options, where it has any."""
    if not isinstance(schema, Mapping) or value is None:
        return True
    options, kinds = schema.get("enum"), schema.get("type")
    if isinstance(options, list) and not isinstance(value, list) and value not in options:
        return False
    names = kinds if isinstance(kinds, list) else [kinds]
    checks = [_KINDS.get(_PYTHON.get(name, name)) for name in names if isinstance(name, str)]
    if isinstance(value, list) and not all(_allowed(v, schema.get("items")) for v in value):
        return False
    return not checks or any(check is None or check(value) for check in checks)


def compare_numbers(request: str, calls: Sequence[Call]) -> tuple[float, float]:
    """Return shares of the calls' numbers that the request lacks, and of its that no call has."""
    asked = [_readings(literal) for literal in find_literals(request)]
    texts = [json.dumps(value) for call in calls for value in _values(call["arguments"])]
    given = [_readings(literal) for text in texts for literal in find_literals(text)]
    return _lacking(given, asked), _lacking(asked, given)


def _values(value: Any) -> Iterable[Any]:
    """Yield what is neither a list nor an object, nor true or false."""
    if isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _values(each)
    elif not isinstance(value, bool) and value is not None:
        yield value


def _readings(literal: Literal) -> Numbers:
    return frozenset(value for one in literal.numbers for value in (one.written, one.value))


def _lacking(some: Sequence[Numbers], others: Sequence[Numbers]) -> float:
    """Return the share of numbers of which no reading is among the others'."""
    held = frozenset().union(*others)
    counted = [readings for readings in some if readings]
    return sum(not readings & held for readings in counted) / max(1, len(counted))


def names_left_out(request: str, calls: Sequence[Call]) -> float:
    """Return the share of the request's names and quotes that no call holds."""
    names = {name.casefold() for name in _NAME.findall(request)}
    given = json.dumps([call["arguments"] for call in calls], ensure_ascii=False).casefold()
    return sum(name not in given for name in names) / max(1, len(names))


def borrowed(calls: Sequence[Call]) -> float:
    """Return the share of calls all of whose values another call, of another tool, has too."""
    values = [
        (call["name"], {json.dumps(value) for value in call["arguments"].values()})
        for call in calls[:_COMPARED]
    ]
    found = sum(
        bool(own) and any(own <= other for of, other in values if of != name)
        for name, own in values
    )
    return found / max(1, len(values))


def repeated(calls: Sequence[Call]) -> float:
    """Return the share of calls that were made before."""
    different = {json.dumps([call["name"], call["arguments"]], sort_keys=True) for call in calls}
    return (len(calls) - len(different)) / max(1, len(calls))


def misplaced(call: Call, properties: Mapping[str, Any], request: str) -> float:
    """Return the share of values beside which the request says what another argument is for.

    Of the values that the request holds; beside them are a few words before and after.
    """
    asked, beside = request.casefold(), {}
    for name, value in call["arguments"].items():
        text = value if isinstance(value, str) else json.dumps(value)
        at = asked.find(text.casefold()) if text else -1
        if at >= 0:
            before = asked[:at].rsplit(maxsplit=_NEAR)[-_NEAR:]
            after = asked[at + len(text) :].split(maxsplit=_NEAR // 2)[: _NEAR // 2]
            beside[name] = stems_with_parts(" ".join([*before, *after]))
    said = {name: stems_with_parts(f"{name} {_describe(properties.get(name))}") for name in beside}
    wrong = 0
    for name, near in beside.items():
        others = [len(near & words) for other, words in said.items() if other != name]
        wrong += max(others, default=0) > len(near & said[name])
    return wrong / max(1, len(beside))


def _describe(schema: Any) -> str:
    return str(schema.get("description", "")) if isinstance(schema, Mapping) else ""
