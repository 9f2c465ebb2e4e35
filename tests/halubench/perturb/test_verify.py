import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases
from tests.strategies import any_strings, prose

from moonlynx.halubench.perturb import KINDS, Rejections, changes, remove_support
from moonlynx.halubench.perturb.source import read
from moonlynx.halubench.perturb.types import Draft, Edit
from moonlynx.halubench.perturb.verify import realise

CONTEXT = ("The Blues won 5 games. The Reds won 3 games. The hall is in Vienna.",)


def verdict(kind, text, *edits):
    rejections = Rejections()
    draft = Draft(kind, tuple(Edit(*edit) for edit in edits))
    change = realise(text, draft, read(CONTEXT), rejections)
    return change.text if change else next(iter(rejections))[1]


def edit(text, old, new):
    return text.index(old), text.index(old) + len(old), new


@pytest.mark.parametrize("case", cases(__file__, "verdicts"), ids=lambda case: case["text"])
def test_a_draft_becomes_a_text_or_is_refused_for_a_reason(case):
    draft = edit(case["text"], case["old"], case["new"])
    assert verdict(case["kind"], case["text"], draft) == case["verdict"]


def test_what_the_context_says_is_refused_and_an_article_is_mended():
    text = "The Blues won 4 games."
    assert verdict("number", text, edit(text, "4", "5")) == "stated"
    assert verdict("number", text, edit(text, "4", "7")) == "The Blues won 7 games."
    text = "The hall is in Paris."
    assert verdict("entity", text, edit(text, "Paris", "Vienna")) == "stated"
    text = "It is a cheap place."
    (change,) = changes(text, (text, "Some are expensive."), Random(0), ("comparative",))
    assert (change.old, change.new) == ("a cheap", "an expensive")
    assert change.text[change.start : change.end] == "an expensive"
    rejections = Rejections()
    for _ in range(3):
        changes("Are there more dogs?", CONTEXT, Random(0), ("comparative",), rejections)
    assert rejections == {("comparative", "no claim"): 3}


QUESTION = "Does the drug help patients?"
CONTEXTS = {
    "position": (
        "The drug helps patients. It is safe and cheap. Most patients in the trial slept longer at "
        "night. The dose was 40 mg a day. It should be used in all clinics.",
    ),
    "held": (
        "We followed 60 patients with severe asthma for two years. Attacks were fewer in the "
        "treated group than in the control group. Blood was drawn in Basel on May 4, 1998.",
    ),
}


def made(rules, kind, text, question=QUESTION, context=()):
    rejections = Rejections()
    context = (*CONTEXTS[rules], *context)
    found = changes(text, context, Random(0), (kind,), rejections, question)
    return {change.text for change in found}, {reason for _, reason in rejections}


@pytest.mark.parametrize("case", cases(__file__, "reasons"), ids=lambda case: case["text"])
def test_an_answer_is_changed_or_left_for_a_reason(case):
    question = QUESTION if case["rules"] == "position" else ""
    found, reasons = made(case["rules"], case["kind"], case["text"], question)
    if case.get("makes"):
        assert case["makes"] in found
    elif "makes" in case:
        assert found
    else:
        assert not found
        assert case.get("reason") in {*reasons, None}


def test_what_is_not_asked_for_or_given_word_for_word_is_changed():
    text = "Yes. It is safe. Patients of the drug are helped."
    assert made("position", "negation", text, question="")[0]
    assert made("held", "number", "The ratio is 0.54.", question="")[0]
    text = "Further studies of severe asthma are needed."
    assert made("held", "negation", text, question="", context=(text,))[0]


_WORDS = st.sampled_from(
    """The old bridge is not a an 8 1,200 $4.5 42% May 26, 1998 in Paris Curie and both all of more
    than Yes, won by 3-5 ( ) years. first never Vienna. said million""".split()  # noqa: SIM905
)
sentences = st.lists(_WORDS, min_size=1, max_size=25).map(" ".join)
texts = sentences | prose | any_strings
contexts = st.lists(texts, max_size=3)


@pytest.mark.fuzz
@given(texts, contexts, st.integers(0, 99))
def test_changes_are_true_to_their_offsets(text, context, seed):
    for change in changes(text, context, Random(seed)):
        assert change.kind in KINDS
        assert change.new
        assert change.text[change.start : change.end] == change.new
        assert change.text[: change.start] + change.old + change.text[change.end :] == text
        assert change.text != text


@pytest.mark.fuzz
@given(texts, contexts)
def test_any_context_can_lose_its_support_or_not(text, context):
    removed = remove_support(text, context)
    assert removed is None or sum(map(len, removed)) < sum(map(len, context))


@pytest.mark.parametrize(
    "unit", ["and ", "A ", "A. ", "1-", "both a ", "is not ", "5 to ", "The Old "]
)
def test_long_texts_take_no_time_worth_the_name(unit):
    text = unit * (2_000 // len(unit))
    start = time.process_time()
    changes(text, (text,), Random(0))
    assert time.process_time() - start < 5
