"""A tool call checked against the tools' schemas and the request: what can be counted."""

import json
from collections.abc import Mapping
from typing import Any

from ...contract.types import MetricInput
from .call_values import (
    Call,
    borrowed,
    compare_numbers,
    disallowed,
    misplaced,
    names_left_out,
    repeated,
    stems_with_parts,
)

COUNTS = (
    "no call",
    "unknown tool",
    "share of required arguments missing",
    "arguments that the tool does not know",
    "share of the values that the request does not hold",
    "share of the request's words in the called tool's description",
    "where none is called: the greatest such share of a tool offered",
    "the called tool's share less that of the best other",
    "tools offered, as 1 / number",
    "share of the values that the tool's schema does not allow",
    "share of the numbers given that the request does not hold",
    "share of the request's numbers that no call holds",
    "share of the values beside which the request says what another argument is for",
    "share of the calls that were made before",
    "share of the request's names that no call holds",
    "share of the calls whose values a call of another tool has too",
)


def read_calls(output: str) -> list[Call]:
    """Read the calls that an output makes: JSON objects with `name` and `arguments`, one or many.

    The OpenAI form, `function` around both and arguments as a string, is read too. What is no such
    JSON calls nothing.
    """
    try:
        found = json.loads(output)
    except ValueError:
        return []
    calls: list[Call] = []
    for each in found if isinstance(found, list) else [found]:
        call = each.get("function", each) if isinstance(each, dict) else None
        if isinstance(call, dict) and isinstance(call.get("name"), str):
            calls.append({"name": call["name"], "arguments": _arguments(call.get("arguments"))})
    return calls


def _arguments(given: Any) -> Mapping[str, Any]:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return {}
    return given if isinstance(given, dict) else {}


def read_call(one: MetricInput) -> tuple[str, tuple[float, ...]]:
    """Return the worst call with its tool's description as a text, and what `COUNTS` names.

    Where nothing is called, the text is the description of the tool that fits the request best.
    """
    offered = [_schema(tool) for tool in one.tools or ()]
    asked = stems_with_parts(one.input)
    fits = {
        tool["name"]: len(asked & stems_with_parts(_describe(tool))) / max(1, len(asked))
        for tool in offered
    }
    best = max(fits.values(), default=0.0)
    known = {tool["name"]: tool for tool in offered}
    few = 1 / max(1, len(offered))
    calls = read_calls(one.output)
    if not calls:
        likely = max(fits, key=lambda name: fits[name], default=None)
        text = _describe(known[likely]) if likely is not None else ""
        without_values = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, best, 0.0, few)
        return text, (*without_values, *[0.0] * (len(COUNTS) - len(without_values)))
    rows, values = [], []
    for call in calls:
        tool = known.get(call["name"])
        fit = fits.get(call["name"], 0.0)
        other = max((share for name, share in fits.items() if name != call["name"]), default=0.0)
        faults = _faults(call, tool, one.input, asked)
        rows.append((0.0, float(tool is None), *faults, fit, 0.0, fit - other, few))
        properties = _properties(tool)
        values.append((disallowed(call, properties), misplaced(call, properties, one.input)))
    # A fault of one call is the output's: what counts against it is taken at its greatest.
    columns = list(zip(*rows, strict=True))
    wrong, elsewhere = map(max, zip(*values, strict=True))
    counts = (*map(max, columns[:5]), *map(min, columns[5:]))
    counts += (wrong, *compare_numbers(one.input, calls), elsewhere, repeated(calls))
    counts += (names_left_out(one.input, calls), borrowed(calls))
    first = min(calls, key=lambda call: fits.get(call["name"], 0.0))
    described = _describe(known.get(first["name"], {"name": first["name"]}))
    text = f"{described} {json.dumps(first['arguments'], ensure_ascii=False)}"
    return text, counts


def _faults(
    call: Call, tool: Mapping[str, Any] | None, request: str, asked: frozenset[str]
) -> tuple[float, float, float]:
    """Return shares of required arguments missing, unknown ones, and values not asked for."""
    given = call["arguments"]
    required, properties = _parameters(tool).get("required"), _properties(tool)
    required = required if isinstance(required, list) else []
    missing = sum(name not in given for name in required) / max(1, len(required))
    unknown = sum(name not in properties for name in given) / max(1, len(given))
    flags = [_unasked(value, request, asked) for value in given.values()]
    unasked = [flag for flag in flags if flag is not None]
    return missing, unknown, sum(unasked) / max(1, len(unasked))


def _unasked(value: Any, request: str, asked: frozenset[str]) -> float | None:
    """Return the share of a value's words that the request lacks; None if it has no words."""
    if isinstance(value, bool) or value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if text.casefold() in request.casefold():
        return 0.0
    words = stems_with_parts(text)
    return len(words - asked) / len(words) if words else None


def _parameters(tool: Mapping[str, Any] | None) -> Mapping[str, Any]:
    parameters = (tool or {}).get("parameters")
    return parameters if isinstance(parameters, dict) else {}


def _properties(tool: Mapping[str, Any] | None) -> Mapping[str, Any]:
    properties = _parameters(tool).get("properties")
    return properties if isinstance(properties, dict) else {}


def _schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    inner = tool.get("function", tool)
    schema = dict(inner) if isinstance(inner, dict) else {}
    schema["name"] = str(schema.get("name", ""))
    return schema


def _describe(tool: Mapping[str, Any]) -> str:
    return f"{tool['name']}: {tool.get('description', '')}"
