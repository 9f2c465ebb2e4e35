import pytest

from moonlynx.judge.metrics.encoder.call_values import (
    borrowed,
    compare_numbers,
    disallowed,
    misplaced,
    names_left_out,
    repeated,
)

PROPERTIES = {
    "start": {"type": "string", "description": "The city where the journey starts, from"},
    "end": {"type": "string", "description": "The city to which the journey goes"},
    "seats": {"type": "integer"},
    "price": {"type": "float"},
    "class": {"type": "string", "enum": ["economy", "business"]},
    "tags": {"type": "array", "items": {"type": "string"}},
    "any": {"type": ["string", "null", "integer"]},
}


def call(**arguments):
    return {"name": "book", "arguments": arguments}


@pytest.mark.parametrize(
    ("arguments", "share"),
    [
        ({}, 0),
        ({"seats": 2, "price": 9.5, "class": "economy", "tags": ["a"], "any": None}, 0),
        ({"price": 9, "any": 3}, 0),
        ({"seats": "two"}, 1),
        ({"seats": True}, 1),
        ({"seats": 2.5, "start": "Oslo"}, 0.5),
        ({"class": "first"}, 1),
        ({"tags": ["a", 3]}, 1),
        ({"tags": "a", "any": [1]}, 1),
        ({"unknown": object}, 0),  # what has no schema may have any value
    ],
)
def test_values_are_held_to_their_schemas(arguments, share):
    assert disallowed(call(**arguments), PROPERTIES) == share


def test_a_schema_that_is_none_allows_everything():
    assert disallowed(call(a=1, b="x"), {"a": "integer", "b": {"type": "no such type"}}) == 0


@pytest.mark.parametrize(
    ("request_", "given", "shares"),
    [
        ("Two seats to Rome", [{"seats": 2}], (0, 0)),
        ("2 seats to Rome", [{"seats": 20}], (1, 1)),
        ("2 seats at 1,500 euros", [{"seats": 2, "price": 1500.0}], (0, 0)),
        ("2 seats and 3 beds", [{"seats": 2}], (0, 0.5)),
        ("2 seats and 3 beds", [{"seats": 2}, {"beds": {"of": [3, 4]}}], (1 / 3, 0)),
        ("a seat", [{"name": "x", "yes": True, "none": None}], (0, 0)),
    ],
)
def test_numbers_are_compared_by_what_they_say(request_, given, shares):
    assert compare_numbers(request_, [call(**each) for each in given]) == pytest.approx(shares)


def test_values_that_changed_places_stand_beside_the_words_of_the_other_argument():
    request = "I need a journey that starts in Oslo and goes to Rome"
    assert misplaced(call(start="Oslo", end="Rome"), PROPERTIES, request) == 0
    assert misplaced(call(start="Rome", end="Oslo"), PROPERTIES, request) > 0
    assert misplaced(call(start="Paris"), PROPERTIES, request) == 0
    assert misplaced(call(start="", end=None), {"start": "?"}, "") == 0


def test_names_and_quotes_that_no_call_holds_are_counted():
    request = "Find trains from Oslo to Rome. Show 'night trains' only."
    assert names_left_out(request, [call(start="oslo", end="Rome", kind="night trains")]) == 0
    assert names_left_out(request, [call(start="Oslo")]) == pytest.approx(2 / 3)
    assert names_left_out("find trains", [call()]) == 0


def test_a_call_that_says_nothing_of_its_own_is_borrowed():
    other = {"name": "weather", "arguments": {"city": "Rome"}}
    assert borrowed([call(end="Rome", seats=2), other]) == 0.5
    assert borrowed([call(end="Rome"), call(end="Rome")]) == 0  # a call repeated is another fault
    assert borrowed([call(end="Oslo"), other, {"name": "now", "arguments": {}}]) == 0
    assert borrowed([]) == 0


def test_calls_made_before_are_counted():
    assert repeated([call(end="Rome", seats=2), call(seats=2, end="Rome"), call()]) == (
        pytest.approx(1 / 3)
    )
