import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.judge.text.edits import annotate, edit, split_units

from ...cases import cases
from ...strategies import any_strings

MARKED = "**A is. B is.** C is.\n| a | b |\n```\nx\n```\nEnd."
LINES = """# Head
It is:
- One is. **Two is.
  - Three is.** Four is.
| a | b |
|---|---|

```
Five is (six. Seven is). “Eight
is” <b>nine. Ten</b> is.
> Eleven."""
lines = st.sampled_from(LINES.split("\n"))
texts = st.lists(lines, max_size=12).map("\n".join) | any_strings


@pytest.mark.parametrize(("text", "changes", "edited"), cases(__file__, "edits"))
def test_what_is_left_is_well_formed(text, changes, edited):
    units = split_units(text)
    numbered = {int(number): new for number, new in changes.items()}
    found = edit(text, units, numbered)
    assert found.text == edited
    for number, place in enumerate(found.ranges):
        if place is not None and number not in numbered:
            shown = found.text[slice(*place)]
            assert shown
            assert shown in units[number].text


@pytest.mark.fuzz
@given(texts, st.data())
def test_of_any_text_nothing_is_left_but_its_own_sentences(text, data):
    units = split_units(text)
    assert edit(text, units, {}).text == text
    chosen = st.sets(st.integers(0, max(0, len(units) - 1)))
    gone = {number: "" for number in data.draw(chosen) if number < len(units)}
    found = edit(text, units, gone)
    for number, place in enumerate(found.ranges):
        assert place is None or number not in gone
        if place is not None:
            assert found.text[slice(*place)] in units[number].text
    # Nothing is made up, but for the text of a list item whose sub-items stay.
    assert not set(found.text) - set(text) - {"…"}


def test_marks_stand_behind_sentences_and_break_no_markup():
    units = split_units(MARKED)
    marked = annotate(MARKED, units, set(range(len(units))), "[?]")
    assert marked.text == (
        "**A is. [?] B is.** [?] C is. [?]\n| a | b [?] |\n```\nx\n```\n[?]\nEnd. [?]"
    )
    assert all(marked.text[slice(*place)].strip("| ").endswith("[?]") for place in marked.ranges)
    assert annotate(MARKED, units, set(), "[?]").text == MARKED
