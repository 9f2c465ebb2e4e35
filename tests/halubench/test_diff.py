from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.halubench.overlap import edits_between

from ..cases import cases
from ..strategies import texts

# Texts of few words have words in common.
SENTENCES = st.lists(st.sampled_from([*"abc", " ", "  ", "1.5", "1", ",", "\n"])).map("".join)


def parts(old, new):
    return [[edit.old, new[edit.start : edit.end]] for edit in edits_between(old, new)]


def undo(new, edits):
    pieces, position = [], 0
    for edit in edits:
        pieces += [new[position : edit.start], edit.old]
        position = edit.end
    return "".join([*pieces, new[position:]])


@pytest.mark.parametrize(("old", "new", "changed"), cases(__file__, "changed_words"))
def test_changed_words_are_found(old, new, changed):
    assert parts(old, new) == changed


@pytest.mark.fuzz
@given(SENTENCES | texts, SENTENCES | texts)
def test_undone_edits_give_the_old_text(old, new):
    edits = edits_between(old, new)
    assert undo(new, edits) == old
    assert bool(edits) == (old != new)
    assert all(one.end <= other.start for one, other in pairwise(edits))
