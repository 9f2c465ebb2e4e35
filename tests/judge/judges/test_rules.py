"""The rule tier: what is held in another form stays, what no document holds is named."""

import asyncio
import json
from datetime import date
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from moonlynx.judge.contract.base import AsyncJudge, Judge
from moonlynx.judge.contract.steps import finish
from moonlynx.judge.contract.types import Example, Verdict
from moonlynx.judge.judges.rules import VERSION
from moonlynx.judge.registry import load_judge
from moonlynx.judge.text.absent import find_absent
from moonlynx.judge.text.quantities import find_literals

from ...strategies import examples, prose
from ..test_conformance import CLAIMLESS, EXAMPLES, REPLY, keeps_the_contract


def absent(context: str, answer: str, question: str = "") -> list[str]:
    found = finish(find_absent(Example(context=context, answer=answer, question=question)))
    assert all(answer[each.start : each.end] == each.text for each in found)
    return [each.text for each in found]


# Document, and an answer that says the same in another form or may follow from it.
HELD = [
    ("Sales were 1.2 million.", "Sales came to 1,200,000."),
    ("Sales were 1,200,000.", "Sales were 1.2 million, or 1.2m."),
    ("Between 80 and 90 people came.", "They counted 85 people."),
    ("Some 80-90 people came.", "They counted 85 people."),
    ("It happened on 3/4/2020.", "It happened on 3 April 2020."),
    ("It happened on 3/4/2020.", "It happened on March 4, 2020."),
    ("Opened on 2020-04-03.", "It opened in April 2020, on the 3rd."),
    ("Opened on April 3rd, in the year 2020.", "It opened on 3 April 2020."),
    ("The run is 5 km long.", "The run is 5,000 m long."),
    ("The run is 5000 metres long.", "The run is 5 kilometers long."),
    ("It costs €25.", "It costs 25 euros."),
    ("It costs 25 EUR.", "It costs €25.00."),
    ("It costs $1.5bn.", "It costs 1.5 billion dollars."),
    ("It rose by 14 percent.", "It rose by 14%, or 14 per cent."),
    ("Twenty-one ships sank.", "21 ships sank."),
    ("It has 305 rooms.", "It has three hundred and five rooms."),
    ("The 21st of them won.", "The twenty-first of them won."),
    ("It is open from 9 am to 5:30 pm.", "It is open until 17:30."),
    ("passage 1:3pm: sunny", "It is sunny at 3pm."),
    ("It costs 1.200,50 euros.", "It costs 1.200,50 euros."),
    ("The tower is 1.234 m high.", "The tower is 1234 m high."),
    ("Revenue was 1,234,567.", "Revenue was about 1.2 million."),
    ("There were 48 boys and 39 girls.", "87 children came."),
    ("It fell from 80 to 60.", "It fell by 25 %."),
    ("In 1932 it opened, in 1950 it closed.", "It closed after 18 years."),
    ("Alpha, beta and gamma.", "There are 3 of them."),
    ("| Team | Wins |\n|---|---|\n| Reds | 41 |", "The Reds have 41 wins."),
    ('{"stars": 4.5, "hours": {"Monday": "9:0-17:0"}}', "It has 4.5 stars and closes at 5 pm."),
    ("Acts in the American film.", "The film is from America."),
    ("The World Health Organization said so.", "It comes from WHO."),
    ("It weighs 2 kg.", "1. It weighs 2000 grams.\n2. It is heavy."),
    ("The news.", "Here is a summary of the news in 55 words."),
]


@pytest.mark.parametrize(("context", "answer"), HELD)
def test_another_form_of_the_same_is_held(context: str, answer: str) -> None:
    assert absent(context, answer) == []


ABSENT = [
    ("It opened in 1932.", "It opened in 1950.", ["1950"]),
    ("Sales were 1.2 million.", "Sales were 1.3 million.", ["1.3 million"]),
    ("Between 80 and 90 people came.", "95 people came.", ["95"]),
    ("It happened on 3/4/2020.", "It happened on 5 April 2020.", ["5 April 2020"]),
    ("The run is 50 km long.", "The run is 50 miles long.", ["50 miles"]),
    ("It costs €25.", "It costs $25.", ["$25"]),
    ("It rose by 14 %.", "It rose by 41 %, they say.", ["41 %"]),
    ("It closes at 17:30.", "It closes at 6:30 pm.", ["6:30 pm"]),
    ("It was designed by Ada Hall.", "It was designed by Ada Munro.", ["Munro"]),
    (
        "Ada Hall.",
        "It cost 40 dollars. It was built by Carl Munro.",
        ["40 dollars", "Carl", "Munro"],
    ),
]


@pytest.mark.parametrize(("context", "answer", "found"), ABSENT)
def test_what_nothing_holds_is_named(context: str, answer: str, found: list[str]) -> None:
    assert absent(context, answer) == found


def test_what_the_question_says_is_no_invention() -> None:
    assert absent("It opened.", "In 1950 it was open.", "Was it open in 1950?") == []


numbers = st.integers(13, 10**7)


@pytest.mark.fuzz
@given(numbers)
def test_thousands_are_the_same_with_and_without_marks(number: int) -> None:
    forms = [f"{number}", f"{number:,}", f"{number:,}".replace(",", " ")]
    for one in forms:
        for other in forms:
            assert absent(f"They sold {one} tickets.", f"They sold {other} tickets.") == []


@pytest.mark.fuzz
@given(st.integers(1, 999), st.sampled_from([("thousand", 3), ("million", 6), ("bn", 9)]))
def test_scales_are_powers_of_ten(number: int, scale: tuple[str, int]) -> None:
    name, power = scale
    written = number * 10**power
    assert absent(f"They sold {number} {name} tickets.", f"They sold {written:,} tickets.") == []
    assert absent(f"They sold {written} tickets.", f"They sold {number} {name} tickets.") == []


@pytest.mark.fuzz
@given(
    st.integers(13, 10**5),
    st.sampled_from([("km", "m", 1000), ("kg", "grams", 1000), ("hours", "minutes", 60)]),
)
def test_units_of_one_dimension_are_converted(number: int, units: tuple[str, str, int]) -> None:
    large, small, factor = units
    assert absent(f"It is {number} {large}.", f"It is {number * factor} {small}.") == []
    assert absent(f"It is {number * factor} {small}.", f"It is {number} {large}.") == []


@pytest.mark.fuzz
@given(st.dates(date(1500, 1, 1), date(2099, 12, 31)))
def test_dates_are_the_same_in_every_form(day: date) -> None:
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
def test_another_number_is_not_held(one: int, other: int) -> None:
    bare = str(other).rstrip("0")
    assume(len(bare) == len(str(other)))  # no round number, to which the other may be rounded
    assume(other not in (one, 2 * one))
    assert absent(f"They sold {one} tickets.", f"They sold {other} tickets.") == [str(other)]


@pytest.mark.fuzz
@given(prose)
def test_literals_are_in_order_and_inside_the_text(text: str) -> None:
    end = 0
    for literal in find_literals(text):
        assert end <= literal.start < literal.end <= len(text)
        assert literal.numbers or literal.days or literal.minutes
        end = literal.end


@pytest.mark.fuzz
@given(examples())
def test_every_answer_is_held_by_itself(example: Example) -> None:
    same = example.model_copy(update={"context": (example.answer,)})
    assert finish(find_absent(same)) == []


WRONG = Example(
    id="wrong",
    context="The bridge opened in 1932. It is green.",
    answer="The bridge is green. The bridge opened in 1950.",
)


@pytest.fixture
def lynx(tmp_path: Path) -> str:
    script = tmp_path / "lynx.jsonl"
    script.write_text(json.dumps({"text": json.dumps({**REPLY, "SCORE": "PASS"})}) + "\n")
    return f"lynx@fake?script={script}"


def test_the_sentence_is_unsupported_and_the_reason_names_it(lynx: str) -> None:
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


def test_otherwise_the_judge_decides(lynx: str) -> None:
    right = WRONG.model_copy(update={"answer": "It opened in 1932."})
    bare, ruled = load_judge(lynx)([right])[0], load_judge(f"{lynx}&rules=on")([right])[0]
    assert ruled.judge.version == f"{bare.judge.version}+{VERSION}"
    assert [stage.decided for stage in ruled.stages] == [False, True]
    update = {"judge": bare.judge, "stages": ()}
    assert ruled.model_copy(update=update) == bare


def test_a_probability_stands_only_for_the_judges_own_score() -> None:
    bare, ruled = load_judge("luna")([WRONG])[0], load_judge("luna?rules=on")([WRONG])[0]
    assert bare.probability is not None
    assert ruled.probability == (bare.probability if bare.score == "FAIL" else None)
    assert ruled.raw_score == bare.raw_score


def test_a_failure_of_the_judge_does_not_hide_what_was_found(tmp_path: Path) -> None:
    script = tmp_path / "broken.jsonl"
    script.write_text(json.dumps({"text": "no JSON"}) + "\n")
    judge = load_judge(f"lynx@fake?script={script}&rules=on")
    right = WRONG.model_copy(update={"answer": "It opened in 1932."})
    verdicts = judge([WRONG, right])
    assert [verdict.score for verdict in verdicts] == ["FAIL", None]


def test_rules_are_off_unless_asked_for() -> None:
    assert load_judge("token-similarity?rules=off").info == load_judge("token-similarity").info
    with pytest.raises(ValueError, match="must be one of on, off"):
        load_judge("token-similarity?rules=yes")


def held_to_the_contract(judge: Judge) -> list[Verdict]:
    together = judge(EXAMPLES)
    for example, verdict in zip(EXAMPLES, together, strict=True):
        keeps_the_contract(example, verdict.model_copy(update={"probability": None}))
        assert verdict.judge == judge.info
    claimless = together[EXAMPLES.index(CLAIMLESS)]
    assert claimless.score == "PASS"
    assert {sentence.label for sentence in claimless.sentences} == {"NO_INFO"}
    assert judge(EXAMPLES[::-1]) == together[::-1]
    assert [judge([example])[0] for example in EXAMPLES] == together
    return together


@pytest.mark.parametrize("name", ["token-similarity", "luna", "lynx"])
def test_the_contract(name: str, lynx: str) -> None:
    judge = load_judge(f"{lynx}&rules=on" if name == "lynx" else f"{name}?rules=on")
    verdicts = held_to_the_contract(judge)
    assert verdicts[0].score == "FAIL", "it opened in 1932, not in 1950"
    if isinstance(judge, AsyncJudge):
        assert asyncio.run(judge.acall(EXAMPLES)) == verdicts
