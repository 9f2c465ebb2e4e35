import json
import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases
from tests.strategies import filled, labels

from moonlynx.halubench.perturb import perturb
from moonlynx.halubench.reasoning import make_target, trace, with_reasoning
from moonlynx.halubench.reasoning.by_template import WORDINGS, quote, say
from moonlynx.halubench.records import Edited
from moonlynx.judge.backends.fake import FakeBackend
from moonlynx.judge.batch.chat_tasks import Fault
from moonlynx.judge.contract.schemas import load_schema
from moonlynx.judge.contract.types import BadInput, Example
from moonlynx.judge.judges.lynx import LynxJudge
from moonlynx.judge.prompts.parsing import parse_lynx

from ..a_row import ANSWER, CONTEXT, make_row

QUOTED = re.compile(r"“([^”]*)”")


def wrong(old, new, answer=ANSWER, **fields):
    start = answer.index(old)
    changed = answer.replace(old, new, 1)
    edit = Edited(start=start, end=start + len(new), old=old)
    return make_row(answer=changed, label="FAIL", gold=answer, edits=(edit,), **fields)


def said(row, seed=0):
    return " ".join(trace(row, seed).reasoning)


@pytest.mark.parametrize(("fields", "has", "lacks"), cases(__file__, "quoting"))
def test_a_trace_quotes_the_claims_and_what_the_document_says(fields, has, lacks):
    text = said(make_row(**fields))
    assert [quoted for quoted in has if quoted not in text] == []
    assert [quoted for quoted in lacks if quoted in text] == []


def test_the_answers_order_is_kept_and_an_addition_is_said_to_stand_nowhere():
    text = said(wrong("Anna Weiss drew the plans for", "Emil Brandt drew the plans for"))
    assert text.index("built in 1894") < text.index("Emil Brandt drew")
    row = wrong("1894.", "1894, at a cost of forty million crowns.")
    row = row.model_copy(update={"edits": (Edited(start=28, end=64, old=""),)})
    text = said(row)
    assert "“at a cost of forty million crowns”" in text
    assert re.search(r"nowhere|Nothing in|not mention", text)


def test_a_noted_span_is_found_and_a_wide_edit_is_narrowed():
    answer = (
        "1. The bridge is ninety metres long.\n2. It is closed on Sundays.\n3. It is made of steel."
    )
    note = (
        '"2. It is closed on Sundays." (Baseless): HIGH INTRO\nGenerative: "closed"\n\n"gone" (x)'
    )
    text = said(make_row(answer=answer, label="FAIL", annotation=note))
    assert "“It is closed on Sundays”" in text
    assert "HIGH" not in text
    answer = "Yes. The bridge was built in 1894 of steel."
    row = wrong(answer, answer.replace("Yes", "No").replace("1894", "1902"), answer=answer)
    assert "“1902”" in said(row)
    assert said(row).count("bridge was built in 1902 of steel") == 1


def test_where_nothing_can_be_named_there_is_no_trace_and_no_claim_is_said():
    assert trace(make_row(label="FAIL", annotation="something is off"), 0) == Fault(
        reason="no known span"
    )
    odd = make_row(question="", answer="Zebras sleep.", label="PASS")
    assert trace(odd, 0) == Fault(reason="no evidence")
    with pytest.raises(BadInput, match="row made/1, label: is missing"):
        trace(make_row(), 0)
    row = make_row(answer="I'm sorry, but I don't know.", label="PASS")
    assert re.search(r"no claim|Nothing is claimed", said(row))


def test_wording_is_drawn_by_seed_and_row_and_can_be_filled():
    row = make_row(label="PASS")
    assert trace(row, 3) == trace(row, 3)
    assert len({said(row, seed) for seed in range(12)}) > 6
    others = (row.model_copy(update={"id": f"made/{number}"}) for number in range(12))
    assert len({said(other) for other in others}) > 6
    slots = dict.fromkeys(("question", "claim", "evidence", "ours", "theirs", "count"), "“x{}”")
    for what, wordings in WORDINGS.items():
        worded = {say(Random(seed), what, **slots) for seed in range(40)}
        assert len(worded) == len(wordings) >= 2
        assert all(text[0].isupper() or text[0] == "“" for text in worded)


@pytest.mark.parametrize("seed", range(40))
def test_traces_hold_only_true_quotations_and_give_nothing_away(seed):
    row = make_row(label="PASS")
    change = perturb(ANSWER, CONTEXT, Random(seed))
    edit = Edited(start=change.start, end=change.end, old=change.old)
    made = {"answer": change.text, "label": "FAIL", "gold": ANSWER, "edits": (edit,)}
    for one in (row, row.model_copy(update=made)):
        traced = trace(one, seed)
        assert not isinstance(traced, Fault)
        text = " ".join((one.question, *one.context, one.answer))
        for quoted in QUOTED.findall(" ".join(traced.reasoning)):
            assert quoted.strip(" …") in text
        assert json.loads(make_target(traced))["SCORE"] == one.label


def test_quotations_are_one_line_and_bounded():
    assert quote('He said "no"\n to “it”. ') == "“He said 'no' to ‘it’”"
    long = " ".join(f"word{number}" for number in range(100))
    cut = quote(long, "word60")
    assert len(cut) < 220
    assert "word60" in cut
    assert cut.startswith("“… word")
    assert cut.endswith(" …”")
    assert quote(long).startswith("“word0 ")


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
