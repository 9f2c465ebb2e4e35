import json
from datetime import date

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from moonlynx.judge.contract.steps import finish
from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.rules import VERSION
from moonlynx.judge.registry import load_judge
from moonlynx.judge.text.absent import find_absent
from moonlynx.judge.text.quantities import find_literals

from ...cases import cases
from ...strategies import examples, prose
from ..test_conformance import REPLY


def absent(context, answer, question=""):
    found = finish(find_absent(Example(context=context, answer=answer, question=question)))
    assert all(answer[each.start : each.end] == each.text for each in found)
    return [each.text for each in found]


@pytest.mark.parametrize(("context", "answer", "named"), cases(__file__, "absent"))
def test_what_nothing_holds_in_any_form_is_named(context, answer, named):
    assert absent(context, answer) == named


@pytest.mark.parametrize(("context", "same", "other"), cases(__file__, "same_and_other"))
def test_pairs_that_differ_in_nothing_but_what_they_mean(context, same, other):
    assert absent(context, same) == []
    assert absent(context, other) != []


@pytest.mark.parametrize(
    "text", ["1" * 5_000, "1." + "3" * 5_000, "1,000" + ",000" * 2_000, "one hundred " * 300]
)
def test_numbers_without_end_break_nothing(text):
    assert absent("It has 24 rooms.", f"It has {text} rooms and 25 doors.")[-1] == "25"
    assert absent(f"It has {text} rooms.", "It has 25 doors.") == ["25"]


def test_what_the_question_says_is_no_invention():
    assert absent("It opened.", "In 1950 it was open.", "Was it open in 1950?") == []


numbers = st.integers(13, 10**7)


@pytest.mark.fuzz
@given(numbers)
def test_thousands_are_the_same_with_and_without_marks(number):
    forms = [f"{number}", f"{number:,}", f"{number:,}".replace(",", " ")]
    for one in forms:
        for other in forms:
            assert absent(f"They sold {one} tickets.", f"They sold {other} tickets.") == []


@pytest.mark.fuzz
@given(st.integers(1, 999), st.sampled_from([("thousand", 3), ("million", 6), ("bn", 9)]))
def test_scales_are_powers_of_ten(number, scale):
    name, power = scale
    written = number * 10**power
    assert absent(f"They sold {number} {name} tickets.", f"They sold {written:,} tickets.") == []
    assert absent(f"They sold {written} tickets.", f"They sold {number} {name} tickets.") == []


@pytest.mark.fuzz
@given(
    st.integers(13, 10**5),
    st.sampled_from([("km", "m", 1000), ("kg", "grams", 1000), ("hours", "minutes", 60)]),
)
def test_units_of_one_dimension_are_converted(number, units):
    large, small, factor = units
    assert absent(f"It is {number} {large}.", f"It is {number * factor} {small}.") == []
    assert absent(f"It is {number * factor} {small}.", f"It is {number} {large}.") == []


@pytest.mark.fuzz
@given(st.dates(date(1500, 1, 1), date(2099, 12, 31)))
def test_dates_are_the_same_in_every_form(day):
    named = day.strftime("%B")
    forms = [
        f"{day.year:04}-{day.month:02}-{day.day:02}",
        f"{day.day} {named} {day.year:04}",
        f"{named} {day.day}, {day.year:04}",
        f"{day.day}/{day.month}/{day.year:04}",
        f"{day.month}/{day.day}/{day.year:04}",
    ]
    for one in forms:
        for other in forms:
            assert absent(f"It was on {one}.", f"It was on {other}.") == []


@pytest.mark.fuzz
@given(st.integers(100, 10**6), st.integers(100, 10**6))
def test_another_number_is_not_held(one, other):
    bare = str(other).rstrip("0")
    assume(len(bare) == len(str(other)))  # no round number, to which the other may be rounded
    assume(other not in (one, 2 * one))
    assert absent(f"They sold {one} tickets.", f"They sold {other} tickets.") == [str(other)]


@pytest.mark.fuzz
@given(prose)
def test_literals_are_in_order_and_inside_the_text(text):
    end = 0
    for literal in find_literals(text):
        assert end <= literal.start < literal.end <= len(text)
        assert literal.numbers or literal.days or literal.minutes
        end = literal.end


@pytest.mark.fuzz
@given(examples())
def test_every_answer_is_held_by_itself(example):
    same = example.model_copy(update={"context": (example.answer,)})
    assert finish(find_absent(same)) == []


WRONG = Example(
    id="wrong",
    context="The bridge opened in 1932. It is green.",
    answer="The bridge is green. The bridge opened in 1950.",
)


@pytest.fixture
def lynx(script):
    return f"lynx@fake?script={script({'text': json.dumps({**REPLY, 'SCORE': 'PASS'})})}"


def test_the_sentence_is_unsupported_and_the_reason_names_it(lynx):
    verdict = load_judge(f"{lynx}&rules=on")([WRONG])[0]
    assert verdict.score == "FAIL"
    assert verdict.reasoning[0] == "No document holds “1950”."
    assert [span.text for span in verdict.spans] == ["1950"]
    (sentence,) = verdict.sentences
    assert WRONG.answer[sentence.start : sentence.end] == "The bridge opened in 1950."
    assert sentence.label == "UNSUPPORTED"
    assert [(s.judge, s.score, s.decided) for s in verdict.stages] == [
        ("rules", "FAIL", True),
        ("lynx:fake", "PASS", False),
    ]
    assert verdict.usage.calls == 1


def test_the_judge_decides_otherwise_and_its_failure_does_not_hide_what_was_found(lynx, script):
    right = WRONG.model_copy(update={"answer": "It opened in 1932."})
    bare, ruled = load_judge(lynx)([right])[0], load_judge(f"{lynx}&rules=on")([right])[0]
    assert ruled.judge.version == f"{bare.judge.version}+{VERSION}"
    assert [stage.decided for stage in ruled.stages] == [False, True]
    update = {"judge": bare.judge, "stages": ()}
    assert ruled.model_copy(update=update) == bare
    broken = load_judge(f"lynx@fake?script={script({'text': 'no JSON'})}&rules=on")
    verdicts = broken([WRONG, right])
    assert [verdict.score for verdict in verdicts] == ["FAIL", None]


def test_a_probability_stands_only_for_the_judges_own_score():
    bare, ruled = load_judge("luna")([WRONG])[0], load_judge("luna?rules=on")([WRONG])[0]
    assert bare.probability is not None
    assert ruled.probability == (bare.probability if bare.score == "FAIL" else None)
    assert ruled.raw_score == bare.raw_score
