"""Tool selection: BFCL's cases with the right call, and a wrong one made of it by rule.

The rules are the guidelines that the paper's metric lists (Luna-2, appendix: tool selection
quality): the tool must fit, required arguments must be there and right, no call where no tool fits,
and a call where one does.
"""

import json
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...data.answers.base import read_lines
from .rows import Placed, letters, place

Call = dict[str, Any]
"""`name` and `arguments`, as they are written in a row's output."""

_SEED = 5
_WITH_CALL = ("simple_python", "multiple", "parallel", "parallel_multiple", "live_simple")
_MORE = ("live_multiple", "live_parallel", "live_parallel_multiple")
_WITHOUT = ("irrelevance", "live_irrelevance")
_NO_CALL = (
    "None of the available tools can help with this request.",
    "I have no tool that fits what you ask, so I will not call one.",
    "I cannot do that with the functions I have been given.",
    "Sorry, the tools at hand do not cover this.",
)
_ABSENT: Any = object()


@dataclass(frozen=True)
class Case:
    """A case of BFCL: a request, the tools for it, and the calls that would be right."""

    # BFCL's id and file
    key: str
    source: str
    request: str  # with the text of the system
    tools: tuple[Mapping[str, Any], ...]
    # of each right call its name, and the values that each argument may have, "" among them where
    # it may be left out; empty where no call is right
    accepted: tuple[tuple[str, Mapping[str, Sequence[Any]]], ...]

    def right(self) -> list[Call]:
        """Return the right calls, each with the first value that its arguments may have."""
        return [{"name": n, "arguments": _settle_all(options)} for n, options in self.accepted]


def read_cases(root: Path) -> Iterator[Case]:
    """Read the cases of one turn."""
    folder = root / "bfcl"
    for name in (*_WITH_CALL, *_MORE, *_WITHOUT):
        path = folder / f"BFCL_v4_{name}.json"
        answers = folder / "possible_answer" / path.name
        known: dict[str, Any] = {}
        if name not in _WITHOUT:
            known = {each["id"]: each["ground_truth"] for each in read_lines(answers)}
        for fields in read_lines(path if path.is_file() else path.with_suffix(".json.gz")):
            truth = known.get(fields["id"], [])
            if bool(truth) == (name in _WITHOUT) or not fields["function"]:
                continue
            yield Case(
                fields["id"],
                name,
                "\n\n".join(turn["content"] for turn in fields["question"][0]),
                tuple(fields["function"]),
                tuple(next(iter(each.items())) for each in truth),
            )


def tool_selection(root: Path) -> Iterator[Placed]:
    """Yield each case twice: with what is right, and with one kind of what is wrong.

    Cases whose key calls a tool that is missing, or without a required argument, are left out.
    """
    rng = random.Random(_SEED)  # noqa: S311 - chance, not secrecy
    cases = [case for case in read_cases(root) if complete(case)]
    maker = WrongCalls(cases, rng)
    for case in cases:
        right = write_calls(case.right()) if case.accepted else rng.choice(_NO_CALL)
        kind, wrong = maker.make(case)
        text = write_calls(wrong) if wrong else rng.choice(_NO_CALL)
        for name, output in (("right", right), (kind, text)):
            yield place(
                f"bfcl-{case.source}",
                f"{case.key}-{name}",
                name == "right",
                group=letters(case.request),
                input=case.request,
                output=output,
                tools=case.tools,
            )


def write_calls(calls: Sequence[Call]) -> str:
    """Return calls as an output has them."""
    return json.dumps(calls, ensure_ascii=False)


class WrongCalls:
    """Makes wrong calls: of the kinds that a case takes, the one that is rarest so far."""

    def __init__(self, cases: Sequence[Case], rng: random.Random) -> None:
        self._rng = rng
        self._made: dict[str, int] = defaultdict(int)
        self._values: dict[str, list[Any]] = defaultdict(list)
        for case in cases:
            for call in case.right():
                types = _types(tool_of(case, call["name"]))
                for name, value in call["arguments"].items():
                    self._values[types.get(name, "")].append(value)

    def make(self, case: Case) -> tuple[str, list[Call]]:
        """Return the kind of fault and the calls, none for the fault that nothing is called."""
        if not case.accepted:
            return "needless_call", [self._fill(self._rng.choice(case.tools))]
        kinds = ["missing_argument", "wrong_argument", "wrong_function", "no_call"]
        for kind in sorted(kinds, key=lambda each: (self._made[each], self._rng.random())):
            calls = self._spoil(kind, case)
            if calls is not None:
                self._made[kind] += 1
                return kind, calls
        return "no_call", []

    def _spoil(self, kind: str, case: Case) -> list[Call] | None:
        """Make one fault in one of the right calls; None where this case takes no such fault."""
        if kind == "no_call":
            return []
        calls = case.right()
        place = self._rng.randrange(len(calls))
        call = calls[place]
        tool = tool_of(case, call["name"])
        spoilt: Call | None
        if kind == "missing_argument":
            spoilt = self._without(call, tool)
        elif kind == "wrong_argument":
            spoilt = self._changed(call, tool, case, dict(case.accepted[place][1]))
        else:
            right = {name for name, _ in case.accepted}
            others = [tool for tool in case.tools if tool["name"] not in right]
            spoilt = self._fill(self._rng.choice(others), call["arguments"]) if others else None
        return None if spoilt is None else [*calls[:place], spoilt, *calls[place + 1 :]]

    def _without(self, call: Call, tool: Mapping[str, Any]) -> Call | None:
        given = [name for name in required(tool) if name in call["arguments"]]
        if not given:
            return None
        left_out = self._rng.choice(given)
        kept = {name: value for name, value in call["arguments"].items() if name != left_out}
        return {"name": call["name"], "arguments": kept}

    def _changed(
        self, call: Call, tool: Mapping[str, Any], case: Case, accepted: Mapping[str, Any]
    ) -> Call | None:
        """Set a required argument to a value of its type that only another case has."""
        types, asked = _types(tool), case.request.casefold()
        for name in self._rng.sample(sorted(call["arguments"]), len(call["arguments"])):
            pool = self._values[types.get(name, "")]
            for value in self._rng.sample(pool, min(20, len(pool))):
                if (
                    name in required(tool)
                    and _plain(value)
                    and type(value) is type(call["arguments"][name])
                    and value not in accepted[name]
                    and str(value).casefold() not in asked
                ):
                    return {"name": call["name"], "arguments": call["arguments"] | {name: value}}
        return None

    def _fill(self, tool: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> Call:
        """Call a tool with its required arguments, from `given` by name, else of other cases."""
        types, known = _types(tool), given or {}
        arguments = {}
        for name in required(tool):
            pool = self._values[types.get(name, "")] or self._values["string"]
            arguments[name] = known[name] if name in known else self._rng.choice(pool)
        return {"name": tool["name"], "arguments": arguments}


def complete(case: Case) -> bool:
    """Return whether a case offers all tools that it wants called, and gives what they need."""
    tools = {tool["name"]: tool for tool in case.tools}
    return all(
        call["name"] in tools and set(required(tools[call["name"]])) <= call["arguments"].keys()
        for call in case.right()
    )


def _plain(value: Any) -> bool:
    """Return whether a value can be compared with those accepted; these differ within dicts."""
    parts = value if isinstance(value, list) else [value]
    return not any(isinstance(each, dict | list) for each in parts)


def required(tool: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the arguments that a tool must be given."""
    return tuple(tool["parameters"].get("required", ()))


def _types(tool: Mapping[str, Any]) -> dict[str, str]:
    properties = tool["parameters"].get("properties", {})
    return {name: str(schema.get("type", "")) for name, schema in properties.items()}


def tool_of(case: Case, name: str) -> Mapping[str, Any]:
    """Return the tool of that name, one without parameters where the case has none."""
    found = next((tool for tool in case.tools if tool["name"] == name), None)
    return found if found is not None else {"name": name, "parameters": {}}


def _settle_all(options: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    settled = {name: settle(values) for name, values in options.items()}
    return {name: value for name, value in settled.items() if value is not _ABSENT}


def settle(values: Any) -> Any:
    """Return the first value that is not ""; those within it are lists of values themselves."""
    options = values if isinstance(values, list) else [values]
    value = next((each for each in options if each != ""), _ABSENT)
    if isinstance(value, dict):
        return _settle_all(value)
    if isinstance(value, list):
        return [_settle_all(each) if isinstance(each, dict) else each for each in value]
    return value
