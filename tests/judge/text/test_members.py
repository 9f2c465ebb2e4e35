import json

import pytest

from moonlynx.judge.text.flatten import flatten
from moonlynx.judge.text.members import say_member, spell_key

from ...cases import cases


@pytest.mark.parametrize(("member", "said"), cases(__file__, "members"))
def test_a_member_is_said_as_people_write_it(member, said):
    key, value = member
    assert say_member(spell_key(key), value) == said


def lines(record):
    return [(line.text, sorted(line.absent)) for line in flatten(json.dumps(record))]


def test_sums_have_the_currency_of_their_record():
    order = {"currency": "EUR", "total": 90.0, "items": [{"unit_price": 3.5, "quantity": 4}]}
    assert [text for text, _ in lines(order)] == [
        "currency: EUR; total: 90.0 EUR; items unit price: 3.5 EUR, quantity: 4."
    ]
    cents = {"currency": "usd", "amount_cents": 11900, "seats_total": 4}
    assert [text for text, _ in lines(cents)] == [
        "currency: usd; amount: 11900 cents; seats total: 4."
    ]
    unknown = {"currency": "shells", "price": 3, "a": {"currency": None, "cost": 1}}
    assert [text for text, _ in lines(unknown)] == ["currency: shells; price: 3; a cost: 1."]


def test_what_there_is_not_has_a_line_of_its_own_that_its_own_words_tell():
    record = {
        "dogs": None,
        "parking": {"parking lot": True, "parking garage": False, "note": ""},
        "meals": {"lunch": False, "dinner": False},
        "pool heated": False,
        "staff": {"manager": None},
        "rooms": [{"beds": 2, "view": False}, {"beds": 1, "view": True}],
    }
    assert lines(record) == [
        ("parking: parking lot; rooms 1 beds: 2, no view, 2 beds: 1, view.", []),
        ("no parking parking garage.", ["garag"]),
        ("no meals.", ["meal"]),
        ("no meals lunch.", ["lunch"]),
        ("no meals dinner.", ["dinne"]),
        ("no pool heated.", ["heate", "pool"]),
    ]
    assert lines([{"pool": False, "gym": True}]) == [("gym.", []), ("no pool.", ["pool"])]
