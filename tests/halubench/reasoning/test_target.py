import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.halubench.reasoning import make_target, with_reasoning
from moonlynx.judge.backends.fake import FakeBackend
from moonlynx.judge.contract.schemas import load_schema
from moonlynx.judge.contract.types import BadInput, Example
from moonlynx.judge.judges.lynx import LynxJudge
from moonlynx.judge.prompts.parsing import parse_lynx

from ...strategies import filled, labels
from ..a_row import make_row


@pytest.mark.fuzz
@given(labels, st.lists(filled, min_size=1))
def test_the_judges_own_parser_reads_the_target(label, bullets):
    target = make_target(make_row(label=label, reasoning=tuple(bullets)))
    read = parse_lynx(target)
    assert (read.score, read.reasoning) == (label, tuple(bullets))


def test_a_judge_that_says_the_target_gives_the_rows_verdict_in_single_lines():
    row = make_row(label="FAIL", reasoning=('It says "1902".', "The document: “1894”."))
    target = make_target(row)
    example = Example(question=row.question, context=row.context, answer=row.answer)
    (verdict,) = LynxJudge(FakeBackend([target]), model="tiny")([example])
    assert (verdict.score, verdict.reasoning) == ("FAIL", row.reasoning)
    assert verdict.to_lynx() == json.loads(target)
    assert set(load_schema("lynx")["required"]) == json.loads(target).keys()
    made = with_reasoning(make_row(label="PASS"), [" one\n two ", "", "three"])
    assert made.reasoning == ("one two", "three")


@pytest.mark.parametrize("field", ["label", "reasoning"])
def test_a_row_without_a_trace_is_no_target(field):
    row = make_row(label="PASS", reasoning=("x",))
    empty = {"label": None, "reasoning": ()}
    with pytest.raises(BadInput, match=f"row made/1, {field}: is missing"):
        make_target(row.model_copy(update={field: empty[field]}))
