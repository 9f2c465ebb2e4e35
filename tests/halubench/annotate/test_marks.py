import pytest

from moonlynx.halubench.annotate.pages import cut_at_edits
from moonlynx.halubench.records import Edited


def edited(start, end, document=None):
    return Edited(start=start, end=end, old="x", document=document)


@pytest.mark.parametrize(
    ("edits", "document", "expected"),
    [
        ((), None, ["abcdef"]),
        ((edited(2, 4),), None, ["ab", "[cd]", "ef"]),
        ((edited(4, 6), edited(0, 2)), None, ["", "[ab]", "cd", "[ef]", ""]),
        ((edited(3, 3),), None, ["abc", "[]", "def"]),
        ((edited(1, 4), edited(2, 5)), None, ["a", "[bcd]", "ef"]),
        ((edited(4, 9),), None, ["abcdef"]),
        ((edited(2, 4, document=1),), None, ["abcdef"]),
        ((edited(2, 4, document=1),), 1, ["ab", "[cd]", "ef"]),
        ((edited(2, 4, document=1),), 0, ["abcdef"]),
    ],
)
def test_a_text_is_cut_at_its_own_edits(edits, document, expected):
    parts = cut_at_edits("abcdef", edits, document)
    assert [f"[{part.text}]" if part.edit else part.text for part in parts] == expected
    assert "".join(part.text for part in parts) == "abcdef"
