import json
import random

from moonlynx.judge.metrics.encoder.tools import read_calls
from moonlynx.recipes.luna2.data.tools import (
    Case,
    WrongCalls,
    read_cases,
    required,
    tool_selection,
    write_calls,
)

from ....labelled_data import DATA, reads_all_data


def tool(name, **properties):
    parameters = {"type": "dict", "properties": properties, "required": sorted(properties)}
    return {"name": name, "description": f"does {name}", "parameters": parameters}


WEATHER = tool("get_weather", city={"type": "string"})
ROUTE = tool("find_route", start={"type": "string"}, end={"type": "string"})
CASE = Case(
    "1", "multiple", "Weather in Rome?", (WEATHER, ROUTE), (("get_weather", {"city": ["Rome"]}),)
)
OTHER = Case(
    "2",
    "multiple",
    "From Oslo to Bergen",
    (ROUTE,),
    (("find_route", {"start": ["Oslo"], "end": ["Bergen", "bergen"]}),),
)
NONE = Case("3", "irrelevance", "Sing me a song", (WEATHER,), ())


def fault(case, calls):
    """Say by schema and key what is wrong with calls, None where nothing is."""
    if not case.accepted:
        return "needless_call" if calls else None
    if not calls:
        return "no_call"
    tools = {each["name"]: each for each in case.tools}
    for call, (name, accepted) in zip(calls, case.accepted, strict=True):
        if call["name"] != name:
            return "wrong_function"
        if set(required(tools[name])) - call["arguments"].keys():
            return "missing_argument"
        for argument, value in call["arguments"].items():
            parts = value if isinstance(value, list) else [value]
            if any(isinstance(each, dict | list) for each in parts):
                continue  # what is accepted is written in another form
            if value not in accepted[argument]:
                return "wrong_argument"
    return None


def test_every_kind_of_wrong_call_is_wrong_as_it_says():
    maker = WrongCalls([CASE, OTHER, NONE], random.Random(1))
    kinds = set()
    for _ in range(40):
        for case in (CASE, OTHER, NONE):
            assert fault(case, case.right()) is None
            kind, calls = maker.make(case)
            kinds.add(kind)
            assert fault(case, calls) == kind
    assert kinds == {
        "missing_argument",
        "wrong_argument",
        "wrong_function",
        "no_call",
        "needless_call",
    }


def test_calls_are_read_as_they_are_written_and_the_right_one_is_the_first():
    calls = CASE.right()
    assert read_calls(write_calls(calls)) == calls
    openai = {"function": {"name": "f", "arguments": json.dumps({"a": 1})}}
    assert read_calls(json.dumps(openai)) == [{"name": "f", "arguments": {"a": 1}}]
    assert read_calls("None of the tools can help.") == []
    case = Case("1", "x", "?", (), (("f", {"a": ["", 3], "b": ["", ""], "c": [{"d": [1, 2]}]}),))
    assert case.right() == [{"name": "f", "arguments": {"a": 3, "c": {"d": 1}}}]


@reads_all_data
def test_all_wrong_calls_made_of_bfcl_are_wrong_and_all_right_ones_right():
    cases = {case.key: case for case in read_cases(DATA)}
    seen = 0
    for row, _ in tool_selection(DATA):
        key, _, kind = str(row.input.id).partition("/")[2].rpartition("-")
        calls = read_calls(row.input.output)
        found = fault(cases[key], calls)
        if row.labels == {"true"}:
            assert kind == "right"
            assert found is None
        else:
            seen += 1
            assert found == kind
    assert seen > 3_000
