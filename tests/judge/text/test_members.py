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
    return said(json.dumps(record))


def said(document):
    return [(line.text, sorted(line.absent)) for line in flatten(document)]


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
        ("parking: parking lot; rooms 1 beds: 2, there is no view, 2 beds: 1, view.", []),
        ("there is no parking parking garage.", ["garag"]),
        ("there is no meals.", ["meal"]),
        ("there is no meals lunch.", ["lunch"]),
        ("there is no meals dinner.", ["dinne"]),
        ("there is no pool heated.", ["heate", "pool"]),
    ]
    features = [{"name": "pool", "available": True}, {"name": "gym", "available": False}]
    assert lines({"features": features}) == [("pool.", []), ("there is no gym.", ["gym"])]
    assert lines({"attributes": {"a": False, "b": False}, "c": None, "deck": 1}) == [
        ("deck: 1.", []),
        ("there is no a.", ["a"]),
        ("there is no b.", ["b"]),
    ]
    assert lines([{"pool": False, "gym": True}]) == [("gym.", []), ("there is no pool.", ["pool"])]


def test_a_table_of_features_is_read_as_a_record_of_them():
    table = "| Feature | Included |\n|---|---|\n| Rooms | 3 |\n| Lift | Yes |\n| Garage | ✗ |\n"
    assert said(f"The flat.\n\n{table}") == [
        ("The flat.", []),
        ("Feature: Rooms; Included: 3.", []),
        ("Lift.", []),
        ("there is no Garage.", ["garag"]),
    ]


def test_what_a_row_has_not_is_said_with_its_first_cell():
    text = "plan,price,audit log,chat\nFree,0,no,yes\nTeam,9,yes,yes\n"
    assert said(text) == [
        ("plan: Free; price: 0; chat.", []),
        ("plan: Free; there is no audit log.", ["audit", "log"]),
        ("plan: Team; price: 9; audit log; chat.", []),
    ]


SHEET = "Our site.\n\n- Pitches: 64\n- **Wi-Fi**: No\n- Hot showers: yes.\nCome and see."


def test_flags_of_a_sheet_in_plain_text_are_read_as_a_record_s():
    assert said(SHEET) == [
        ("Our site.", []),
        ("- Pitches: 64", []),
        ("there is no Wi-Fi.", ["fi", "wi"]),
        ("Hot showers.", []),
        ("Come and see.", []),
    ]
    line = flatten(SHEET)[2]
    assert SHEET[line.start : line.end] == "- **Wi-Fi**: No"


@pytest.mark.parametrize(
    "text",
    [
        "Anna: Is it open?\nBen: No\nAnna: Why?\nBen: No idea",  # a conversation
        "Note: it rains.\nWi-Fi: No",  # two lines
        "Open: daily\nRooms: 12\nStars: 4",  # no flags
        "Is there a pool?: No\nIs there a lift?: No\nA bar?: No",
    ],
)
def test_other_lines_stay_prose(text):
    assert flatten(text) is None
