import random
from collections import Counter

import pytest

from moonlynx.judge.metrics.encoder.tools import read_calls
from moonlynx.recipes.luna2.data.near_calls import NearlyRight, accept, near_calls
from moonlynx.recipes.luna2.data.tools import Case, required

from ....labelled_data import DATA, reads_all_data

FLIGHT = {
    "name": "book_flight",
    "description": "Books a flight. Prices are in euros.",
    "parameters": {
        "type": "dict",
        "properties": {
            "start": {"type": "string", "description": "where it leaves"},
            "end": {"type": "string", "description": "where it lands"},
            "seats": {"type": "integer"},
            "seat1": {"type": "string"},
            "seat2": {"type": "string"},
            "class": {"type": "string", "enum": ["economy", "business"]},
        },
        "required": ["start", "end", "seats"],
    },
}
HOTEL = {
    "name": "find_hotel",
    "description": "Finds a hotel.",
    "parameters": {
        "type": "dict",
        "properties": {"end": {"type": "string"}},
        "required": ["end"],
    },
}
RIGHT = {"start": ["Oslo"], "end": ["Rome", "rome"], "seats": [2], "class": ["business", ""]}
CASE = Case(
    "1",
    "parallel",
    "Book 2 business seats from Oslo to Rome, and 3 from Rome to Bergen.",
    (FLIGHT, HOTEL),
    (
        ("book_flight", RIGHT),
        ("book_flight", {"start": ["Rome"], "end": ["Bergen"], "seats": [3]}),
    ),
)
KINDS = {
    "number",
    "exchanged",
    "option",
    "type",
    "unknown_argument",
    "unknown_tool",
    "call_left_out",
    "call_twice",
    "further_call",
}


def is_right(case, calls):
    """Say by name and accepted values whether these are the case's calls."""
    if [call["name"] for call in calls] != [name for name, _ in case.accepted]:
        return False
    for call, (_, accepted) in zip(calls, case.accepted, strict=True):
        if any(value not in accepted.get(name, ()) for name, value in call["arguments"].items()):
            return False
        needed = {name for name, values in accepted.items() if "" not in values}
        if needed - call["arguments"].keys():
            return False
    return True


def test_every_kind_of_fault_makes_right_calls_wrong():
    rng = random.Random(1)
    maker, made = NearlyRight(rng), Counter()
    for _ in range(90):
        assert is_right(CASE, accept(CASE, rng))
        kind, calls = maker.make(CASE)
        made[kind] += 1
        assert not is_right(CASE, calls), (kind, calls)
    assert set(made) == KINDS
    assert max(made.values()) - min(made.values()) <= 1


def test_all_accepted_forms_are_drawn():
    rng = random.Random(2)
    drawn = [accept(CASE, rng)[0]["arguments"] for _ in range(40)]
    assert {each["end"] for each in drawn} == {"Rome", "rome"}
    assert {"class" in each for each in drawn} == {True, False}


@pytest.mark.parametrize("names", [("seat1", "seat2"), ("a", "b")])
def test_arguments_whose_order_may_not_matter_are_not_exchanged(names):
    tool = {
        "name": "add",
        "parameters": {"properties": {name: {"type": "integer"} for name in names}},
    }
    accepted = dict(zip(names, ([12], [18]), strict=True))
    case = Case("1", "simple", "Add 12 and 18", (tool,), (("add", accepted),))
    maker = NearlyRight(random.Random(3))
    assert "exchanged" not in {maker.make(case)[0] for _ in range(20)}


@reads_all_data
def test_faults_of_bfcl_are_seen_in_the_calls_and_tools_offered():
    kinds = Counter()
    for (right, _), (wrong, _) in zip(*[iter(near_calls(DATA))] * 2, strict=True):
        assert (right.labels, wrong.labels) == ({"true"}, {"false"})
        assert right.input.tools == wrong.input.tools
        tools = {tool["name"]: tool for tool in right.input.tools}
        before, after = read_calls(right.input.output), read_calls(wrong.input.output)
        assert before
        for call in before:
            assert set(required(tools[call["name"]])) <= call["arguments"].keys()
        assert before != after
        kind = str(wrong.input.id).rpartition("-")[2]
        kinds[kind] += 1
        if kind == "unknown_tool":
            assert any(call["name"] not in tools for call in after)
        else:
            assert all(call["name"] in tools for call in after)
    assert set(kinds) == KINDS
    assert min(kinds.values()) > 100
