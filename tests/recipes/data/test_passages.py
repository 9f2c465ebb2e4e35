import re
from random import Random

import numpy as np
import pytest

from moonlynx.judge.text.tokens import content_tokens
from moonlynx.recipes.data.passages import KINDS, generate
from moonlynx.recipes.data.passages.families import Family, compute, draw, load_families

pytestmark = pytest.mark.heavy  # draws thousands of pairs


@pytest.fixture(scope="module")
def pairs():
    return list(generate(1_800, seed=4))


@pytest.mark.parametrize("kind", KINDS)
def test_every_family_tells_two_worlds_apart(kind):
    families = load_families(kind)
    assert len(families) >= 45
    for family in families:
        for seed in range(20):
            told = draw(family, Random(seed))
            texts = (told.passage, told.other, told.true, told.false, told.question)
            assert not any(re.search(r"\$[A-Za-z{]|[\[\]|@#{}]", text) for text in texts)
            assert told.passage != told.other
            assert told.true != told.false


def test_pairs_differ_in_the_passage_or_in_the_claim(pairs):
    same = [right.example.context == wrong.example.context for right, wrong in pairs]
    assert 0.4 < np.mean(same) < 0.6
    for (right, wrong), passage in zip(pairs, same, strict=True):
        assert (right.example.label, wrong.example.label) == ("PASS", "FAIL")
        assert (right.example.answer == wrong.example.answer) is not passage
        assert right.example.question == wrong.example.question
        assert wrong.example.spans
        assert wrong.contradicted is not None
        assert right.contradicted is None
    kinds = {row.example.source for _, row in pairs if row.contradicted is False}
    assert kinds == {"plain:silence"}


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("n - 5", "85"),
        ("n / 60", "1"),
        ("span n", "1 hour and 30 minutes"),
        ("clock 785", "1:05 pm"),
        ("hours 785", "13:05"),
        ("date n", "31 March"),
        ("weekday 8", "Tuesday"),
        ("month 13", "January"),
        ("comma 12500", "12,500"),
        ("tenths n", "9.0"),
        ("cents n", "0.90"),
        ("word 12", "twelve"),
        ("ordinal 3", "third"),
    ],
)
def test_values_are_computed_from_slots_and_said_in_words(formula, value):
    assert compute(formula, {"n": "90"}) == value


def test_sentences_begin_with_a_capital_and_slots_may_be_patterns():
    family = Family(
        slots={"c": "[tin|zinc]", "n": "2..9"},
        turn=({"p": "melts"}, {"p": "lasts"}),
        passage=("It is hot. $c $p at $n.",),
        claim=("$c $p.",),
    )
    told = draw(family, Random(1))
    assert re.fullmatch(r"It is hot\. (Tin|Zinc) (melts|lasts) at [2-9]\.", told.passage)


def test_the_same_seed_writes_the_same_rows_and_slots_have_names_of_their_own():
    assert list(generate(50, 7)) == list(generate(50, 7)) != list(generate(50, 8))
    with pytest.raises(ValueError, match="two slots have one name"):
        Family(slots={"a": "town"}, turn=({"a": "x"},), passage=("$a.",), claim=("$a.",))


def auroc(failed, scores):
    from sklearn.metrics import roc_auc_score

    return roc_auc_score(failed, scores)


def test_no_document_holds_two_draws_of_one_family(pairs):
    for right, _ in pairs:
        text = " ".join(right.example.context)
        assert text.count("Thank you for choosing the ") <= 1
        assert text.count(" reported a rise in revenue of ") <= 1


def test_neither_words_nor_length_nor_overlap_tell_the_label(pairs):
    rows = [row.example for pair in pairs for row in pair]
    failed = np.array([row.label == "FAIL" for row in rows])
    assert auroc(failed, [len(row.answer) for row in rows]) == pytest.approx(0.5, abs=0.03)
    overlap = []
    for row in rows:
        known = {token.form for text in row.context for token in content_tokens(text)}
        own = [token.form for token in content_tokens(row.answer)]
        overlap.append(-np.mean([form in known for form in own] or [1.0]))
    assert 0.4 < auroc(failed, overlap) < 0.6

    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    vectors = TfidfVectorizer(ngram_range=(1, 2), min_df=2).fit_transform(r.answer for r in rows)
    half = len(rows) // 2
    model = LogisticRegression(max_iter=1_000).fit(vectors[:half], failed[:half])
    assert 0.4 < auroc(failed[half:], model.decision_function(vectors[half:])) < 0.6
