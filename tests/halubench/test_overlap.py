from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases
from tests.strategies import texts

from moonlynx.halubench.leaks import find_leak
from moonlynx.halubench.overlap import RUN, Leaks, NearDuplicates, edits_between, runs
from moonlynx.halubench.records import Provenance, QARow
from moonlynx.judge.contract.types import Example

from .made_data import answer, question, text


def row(n, *, context=None, asked=None, said=None):
    return QARow(
        id=f"DROP/{n}",
        source="DROP",
        question=asked or question(n),
        context=context or text(n),
        answer=said or answer(n),
        group=str(n),
        provenance=Provenance(file="f", sha256="0" * 64, row=str(n), licence="MIT"),
    )


def test_a_row_that_shares_a_run_of_thirteen_words_with_a_test_row_leaks():
    words = [f"w{n}" for n in range(RUN + 1)]
    assert len(runs([" ".join(words)])) == 2
    assert runs([" ".join(words)]) == runs([", ".join(words).upper() + "!"])
    assert runs([" ".join(words[: RUN - 1])]) == set()
    leaks = Leaks([Example(context=text(1), question=question(50), answer=answer(1))])
    assert leaks.hold(row(1))
    assert leaks.hold(row(2, context=f"New. {text(1)[40:200]} New."))
    assert leaks.hold(row(3, said=text(1)))
    assert not leaks.hold(row(4))
    assert not leaks.hold(row(5, said=answer(1)))  # too short to be more than chance
    assert leaks.hold(row(1))


def test_almost_the_same_row_is_seen_and_another_is_another():
    seen = NearDuplicates()
    assert seen.add(row(1))
    assert not seen.add(row(1))
    assert not seen.add(row(1, asked=question(1).upper() + " ?"))
    assert not seen.add(row(1, context=text(1) + " And no more is known of it."))
    seen = NearDuplicates()
    assert seen.add(row(1))
    assert seen.add(row(1, asked="Who planned it?", said="Brecht"))
    assert seen.add(row(2, asked=question(1), said=answer(1)))


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


@pytest.mark.parametrize("case", cases(__file__, "leaks"), ids=lambda case: case["text"])
def test_what_gives_the_making_away_is_found_and_what_only_reasons_is_not(case):
    assert bool(find_leak(["The answer is about a bridge.", case["text"]])) == case["leaks"]


def test_words_of_the_text_itself_may_be_taken_up():
    said = "The immune response was altered in both groups."
    assert find_leak([said]) == "response was altered"
    assert find_leak([said], about="We found that the immune response was altered.") is None
    assert find_leak(["The GOLD_ANSWER"], about="gold_answer") == "GOLD_ANSWER"
