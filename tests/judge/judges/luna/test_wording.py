"""A claim is read with the documents' words for what equals a quantity of theirs."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.eval.metrics import auroc
from moonlynx.judge.contract.steps import finish
from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.luna.inputs import Limits
from moonlynx.judge.judges.luna.windows import read_claims
from moonlynx.judge.registry import load_judge

LIMITS = Limits(128, 12, 40)
PAIRS = Path(__file__).with_name("quantities.jsonl")


def read(tokenizer, claim, *documents, limits=LIMITS):
    (found,) = finish(read_claims("", claim, documents, tokenizer, limits, 1))
    return found


@pytest.mark.parametrize(
    ("document", "claim", "worded"),
    [
        ("It keeps for six months.", "It keeps half a year.", "It keeps six months."),
        ("It takes 24 balls.", "Roll two dozen balls.", "Roll 24 balls."),
        ("It weighs 3,500 g.", "It weighs 3.5 kg, dry.", "It weighs 3,500 g, dry."),
        ("Open from 22:15.", "It opens at 10:15 p.m.", "It opens at 22:15"),
        ("It opens at 1 p.m.", "It opens at 13:00.", "It opens at 1 p.m."),
        ("Due on 2024-03-05.", "It is due on 5 March 2024.", "It is due on 2024-03-05."),
        ("Two, or 5 km, or 90 min.", "2, or 5,000 m, or 1.5 hours.", "Two, or 5 km, or 90 min."),
        ("They won 25% of them.", "They won just a quarter of them.", "They won just 25% of them."),
        ("It lags 1,000 ms.", "It lags by 1 second.", "It lags by 1,000 ms."),
        ("Adults pay 8.50 euros.", "Over 8 euros for adults.", "Over 8.50 euros for adults."),
        ("It sold 1,240 of them.", "It sold about 1,200 of them.", "It sold about 1,240 of them."),
        (
            "A desk is 70 euros, a lamp 30 euros.",
            "Both are 100 euros.",
            "Both are 70 euros and 30 euros.",
        ),
        (
            "It is open from 8:00 to 16:00.",
            "It is open for eight hours.",
            "It is open for 8:00 to 16:00.",
        ),
        ("Rebuilt in 1994.", "It was rebuilt in the nineties.", "It was rebuilt in 1994."),
        ("The WHO agreed.", "The World Health Organization did.", "The WHO did."),
        ("The Bank of Oslo agreed.", "The BoO did.", "The Bank of Oslo did."),
        # another quantity, an ordinal, a number beside an ordinal, or nothing new
        ("It keeps for six months.", "It keeps for two years.", None),
        ("It is the third one.", "It has 3 rooms.", None),
        ("It has three rooms.", "It is the 3rd one.", None),
        ("It has 100 rooms.", "It is the hundredth one.", None),
        ("The first three years are free.", "From the fourth year on.", None),
        ("It keeps for six months, half a year.", "It keeps for half a year.", None),
        ("It keeps long.", "It keeps for half a year.", None),
    ],
)
def test_what_is_equal_is_read_in_the_documents_words(tokenizer, document, claim, worded):
    found = read(tokenizer, claim, document)
    assert found.claim.text == (worded or claim)
    assert (found.claim.start, found.claim.end) == (0, len(claim))
    expected = tokenizer.encode(worded or claim, add_special_tokens=False)
    assert found.claim.ids.tolist() == expected.ids


def test_tokens_and_new_words_keep_their_places_in_the_answer(tokenizer):
    answer = "Yes. Paint dries in an hour and a half, says Oslo."
    (_, found) = finish(
        read_claims("", answer, ["Yes, it dries in 90 minutes."], tokenizer, LIMITS, 1)
    )
    assert found.claim.text == "Paint dries in 90 minutes, says Oslo."
    ranges = {answer[start:end] for start, end in found.claim.offsets}
    assert {"an hour and a half", ",", "in"} <= ranges
    new = [answer[found.claim.start + start :][: end - start] for start, end, _ in found.new]
    assert new == ["Paint", "says", "Oslo"]


def test_a_claim_that_would_be_too_long_is_read_as_it_is(tokenizer):
    claim, worded = "It is 5 km wide.", "It is five kilometres wide."
    length = len(tokenizer.encode(worded, add_special_tokens=False).ids)
    for most, text in ((length, worded), (length - 1, claim)):
        limits = LIMITS._replace(claim=most)
        assert read(tokenizer, claim, worded, limits=limits).claim.text == text


pieces = ["an hour and a half", "90 minutes", "two dozen", "24", "The tower", "é", "(", ".", "5 km"]
texts = st.lists(st.sampled_from(pieces), min_size=1, max_size=8).map(" ".join)


@pytest.mark.fuzz
@given(texts, texts)
def test_any_text_keeps_its_range(tokenizer, answer, document):
    for found in finish(read_claims("", answer, [document], tokenizer, LIMITS, 1)):
        offsets = found.claim.offsets
        assert len(offsets) == len(found.claim.ids)
        assert all(found.claim.start <= a <= b <= found.claim.end for a, b in offsets)


@pytest.mark.heavy
def test_quantities_in_another_form_are_no_fault_and_other_quantities_are():
    """Pairs by an author who knew nothing of the rule; `same` was 6 of 40 without it."""
    rows = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    judge = load_judge("luna")
    examples = [Example(context=tuple(row["context"]), answer=row["answer"]) for row in rows]
    right = Counter(
        row["id"].partition("-")[2]
        for row, verdict in zip(rows, judge(examples), strict=True)
        if verdict.score == row["label"]
    )
    assert right["other"] >= 39
    assert right["same"] >= 31
    assert right["plain"] >= 37


def answers(name):
    """Return the rows of a file, and examples of them."""
    lines = PAIRS.with_name(f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    given = [{key: row[key] for key in ("id", "question", "context", "answer")} for row in rows]
    return rows, [Example(**one) for one in given]


@pytest.mark.parametrize("name", ["computed", "rounded", "acronyms_and_decades"])
def test_the_answers_are_pairs(name):
    rows, _ = answers(name)
    assert Counter(row["label"] for row in rows) == {"PASS": 40, "FAIL": 40}
    assert all((row["slip"] is None) == (row["label"] == "PASS") for row in rows)
    assert len({row["context"][0] for row in rows}) == 40


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rank", "stopped", "found"),
    [
        ("computed", 0.87, 9, 30),
        ("rounded", 0.79, 11, 25),
        ("acronyms_and_decades", 0.84, 9, 25),
    ],
)
def test_what_is_said_otherwise_is_told_from_what_is_wrong(name, rank, stopped, found):
    """By authors who knew nothing of the rules; without them AUROC is .51, .50 and .65."""
    rows, examples = answers(name)
    verdicts = load_judge("luna")(examples)
    fails = [row["label"] == "FAIL" for row in rows]
    assert auroc(fails, [verdict.raw_score for verdict in verdicts]) >= rank
    failed = Counter(
        row["label"] for row, verdict in zip(rows, verdicts, strict=True) if verdict.score == "FAIL"
    )
    assert failed["PASS"] <= stopped
    assert failed["FAIL"] >= found
