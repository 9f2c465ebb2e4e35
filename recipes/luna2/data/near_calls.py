"""Tool calls that are nearly right: faults that `tools.WrongCalls` does not make, and their twins.

Each case of BFCL comes once more, with its tools renamed or described in one sentence as users'
tools are, beside a right call in another of its accepted forms and one with a single fault.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from .rows import Placed, letters, place
from .tools import Call, Case, complete, read_cases, required, settle, tool_of, write_calls

_SEED = 6
_SHARE = 0.5  # of the cases whose tools are renamed; of those described in one sentence
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_FIRST = re.compile(r".+?[.!?](?=\s|$)", re.DOTALL)
Fault = Callable[[Case, list[Call]], list[Call] | None]


def near_calls(root: Path) -> Iterator[Placed]:
    """Yield each case that wants a call twice, right and with one fault."""
    rng = random.Random(_SEED)  # noqa: S311 - chance, not secrecy
    maker = NearlyRight(rng)
    for case in read_cases(root):
        if not (case.accepted and complete(case)):
            continue
        made = maker.make(case)
        if made is None:
            continue
        kind, wrong = made
        names = _rename(case, rng) if rng.random() < _SHARE else {}
        short = rng.random() < _SHARE
        tools = tuple(_as_users_do(tool, names, short=short) for tool in case.tools)
        for name, calls in (("right", accept(case, rng)), (kind, wrong)):
            renamed = [call | {"name": names.get(call["name"], call["name"])} for call in calls]
            yield place(
                "bfcl-near",
                f"{case.key}-{name}",
                name == "right",
                group=letters(case.request),
                input=case.request,
                output=write_calls(renamed),
                tools=tools,
            )


def accept(case: Case, rng: random.Random) -> list[Call]:
    """Return the right calls, each argument with one of the values that it may have, by chance."""
    calls = []
    for name, accepted in case.accepted:
        needed = required(tool_of(case, name))
        arguments = {}
        for argument, values in accepted.items():
            options = [value for value in values if value != ""]  # "" where it may be left out
            if options and (
                argument in needed or len(options) == len(values) or rng.random() < 0.5
            ):
                arguments[argument] = settle([rng.choice(options)])
        calls.append({"name": name, "arguments": arguments})
    return calls


class NearlyRight:
    """Makes one fault in right calls: of the kinds that a case takes, the one rarest so far."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._made: dict[str, int] = defaultdict(int)
        self._faults: Mapping[str, Fault] = {
            "number": self._other_number,
            "exchanged": self._exchanged,
            "option": self._other_option,
            "type": self._other_type,
            "unknown_argument": self._unknown_argument,
            "unknown_tool": self._unknown_tool,
            "call_left_out": self._left_out,
            "call_twice": self._twice,
            "further_call": self._further,
        }

    def make(self, case: Case) -> tuple[str, list[Call]] | None:
        """Return the kind of fault and the calls; None where the case takes none."""
        for kind in sorted(self._faults, key=lambda each: (self._made[each], self._rng.random())):
            calls = self._faults[kind](case, accept(case, self._rng))
            if calls is not None:
                self._made[kind] += 1
                return kind, calls
        return None

    def _change(
        self, case: Case, calls: list[Call], change: Callable[[Any, Mapping[str, Any]], Any]
    ) -> list[Call] | None:
        """Replace an argument's value by one that is not accepted.

        `change` is given its value and schema, and returns the new value, or None if it has none.
        """
        places = [(at, name) for at, call in enumerate(calls) for name in call["arguments"]]
        for at, name in self._rng.sample(places, len(places)):
            call = calls[at]
            value = change(call["arguments"][name], _schema(case, call, name))
            if value is not None and value not in case.accepted[at][1][name]:
                changed = call["arguments"] | {name: value}
                return _replaced(calls, at, arguments=changed)
        return None

    def _other_number(self, case: Case, calls: list[Call]) -> list[Call] | None:
        asked = case.request

        def change(value: Any, _schema: Mapping[str, Any]) -> Any:
            if isinstance(value, bool) or not isinstance(value, int | float):
                return None
            if str(value) not in asked:
                return None
            near = [value + 1, value - 1, value * 10, value * 2, value + 5]
            near = [each for each in near if str(each) not in asked and each >= 0]
            return self._rng.choice(near) if near else None

        return self._change(case, calls, change)

    def _exchanged(self, case: Case, calls: list[Call]) -> list[Call] | None:
        for at, call in enumerate(calls):
            given, accepted = call["arguments"], case.accepted[at][1]
            for one, other in permutations(given, 2):
                first, second = given[one], given[other]
                kinds = {_schema(case, call, name).get("type") for name in (one, other)}
                if _alike(one, other) or len(kinds) > 1 or isinstance(first, dict | bool | list):
                    continue
                if second not in accepted[one] and first not in accepted[other]:
                    changed = given | {one: second, other: first}
                    return _replaced(calls, at, arguments=changed)
        return None

    def _other_option(self, case: Case, calls: list[Call]) -> list[Call] | None:
        def change(value: Any, schema: Mapping[str, Any]) -> Any:
            options = [each for each in schema.get("enum") or () if each != value]
            return self._rng.choice(options) if options else None

        return self._change(case, calls, change)

    def _other_type(self, case: Case, calls: list[Call]) -> list[Call] | None:
        def change(value: Any, schema: Mapping[str, Any]) -> Any:
            if schema.get("type") in ("integer", "float") and not isinstance(value, bool):
                return self._rng.choice([f"{value}", [value], f"about {value}"])
            return [value] if schema.get("type") in ("string", "boolean") else None

        return self._change(case, calls, change)

    def _unknown_argument(self, case: Case, calls: list[Call]) -> list[Call] | None:
        at = self._rng.randrange(len(calls))
        given = calls[at]["arguments"]
        if not given:
            return None
        name = self._rng.choice(list(given))
        new = self._rng.choice([f"{name}_value", f"the_{name}", f"{name}2", "query", "text"])
        if new in _properties(case, calls[at]):
            return None
        renamed = {new if each == name else each: value for each, value in given.items()}
        return _replaced(calls, at, arguments=renamed)

    def _unknown_tool(self, case: Case, calls: list[Call]) -> list[Call] | None:
        at = self._rng.randrange(len(calls))
        name = calls[at]["name"]
        new = self._rng.choice([f"{name}_v2", f"do_{name}", f"{name}_all"])
        if any(tool["name"] == new for tool in case.tools):
            return None
        return _replaced(calls, at, name=new)

    def _left_out(self, _case: Case, calls: list[Call]) -> list[Call] | None:
        if len(calls) < 2 or calls[0] == calls[1]:
            return None
        at = self._rng.randrange(len(calls))
        return [*calls[:at], *calls[at + 1 :]]

    def _twice(self, _case: Case, calls: list[Call]) -> list[Call] | None:
        return [*calls, self._rng.choice(calls)]

    def _further(self, case: Case, calls: list[Call]) -> list[Call] | None:
        """Call one more tool that was not asked for, with what the right call was given."""
        right = {call["name"] for call in calls}
        others = [tool for tool in case.tools if tool["name"] not in right]
        if not others:
            return None
        tool = self._rng.choice(others)
        known = {name: value for call in calls for name, value in call["arguments"].items()}
        values = [*known.values()] or [""]
        arguments = {
            name: known[name] if name in known else self._rng.choice(values)
            for name in required(tool)
        }
        return [*calls, {"name": tool["name"], "arguments": arguments}]


def _alike(one: str, other: str) -> bool:
    """Return whether two arguments have names such as num1 and num2, whose order may not matter."""
    first, second = (name.rstrip("_0123456789") for name in (one, other))
    return first == second or len(first) == len(second) == 1


def _replaced(calls: Sequence[Call], at: int, **changes: Any) -> list[Call]:
    return [*calls[:at], calls[at] | changes, *calls[at + 1 :]]


def _properties(case: Case, call: Call) -> Mapping[str, Any]:
    return tool_of(case, call["name"])["parameters"].get("properties") or {}


def _schema(case: Case, call: Call, name: str) -> Mapping[str, Any]:
    return _properties(case, call).get(name) or {}


def _rename(case: Case, rng: random.Random) -> dict[str, str]:
    """Return names of one word for tools whose names have several, where no two become one."""
    words = {tool["name"]: _PARTS.findall(tool["name"]) for tool in case.tools}
    names = {name: rng.choice(parts).lower() for name, parts in words.items() if len(parts) > 1}
    whole = [names.get(name, name) for name in words]
    return names if len(set(whole)) == len(whole) else {}


def _as_users_do(
    tool: Mapping[str, Any], names: Mapping[str, str], *, short: bool
) -> dict[str, Any]:
    """Rename a tool, and where it is to be short cut its description after the first sentence."""
    first = _FIRST.match(tool.get("description", ""))
    described = {"description": first[0]} if short and first else {}
    return {**tool, "name": names.get(tool["name"], tool["name"]), **described}
