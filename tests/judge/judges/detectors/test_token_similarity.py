import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.detectors.token_similarity import METRICS, TokenSimilarity
from moonlynx.judge.registry import load_judge

from ....cases import cases

CONTEXT = (
    "The lighthouse at the cape was built in 1874. It stands 35 metres high and burns gas.",
    "Since 1990 the keeper's house has been a museum. Entry costs 3.50 euros.",
)


def judge(answer, context=CONTEXT, metric="overlap", **options):
    (verdict,) = TokenSimilarity(metric, **options)([Example(context=context, answer=answer)])
    return verdict


def test_words_that_stand_in_the_documents_support():
    answer = "The lighthouse was built in 1874. Today the house is a brewery of 1990."
    verdict = judge(answer, threshold=0.5)
    built, brewery = verdict.sentences
    assert (built.label, built.raw_score) == ("SUPPORTED", 0.0)
    assert [(e.document, CONTEXT[0][e.start : e.end]) for e in built.evidence] == [
        (0, "The lighthouse at the cape was built in 1874.")
    ]
    # Of today, house, brewery and 1990 two are found.
    assert (brewery.label, brewery.raw_score) == ("UNSUPPORTED", 0.5)
    assert [span.text for span in verdict.spans] == ["Today", "brewery"]
    assert (verdict.score, verdict.raw_score) == ("FAIL", 0.5)
    assert "not found: today, brewery" in verdict.reasoning[1]
    verdict = judge("A lighthouse built in 1874 at the cape, and a keeper's house, now a museum.")
    assert sorted(e.document for e in verdict.sentences[0].evidence) == [0, 1]
    verdict = judge("The lighthouse burns solar power at night.", threshold=0.5)
    assert [span.text for span in verdict.spans] == ["solar power at night"]


@pytest.mark.parametrize(("answer", "score"), cases(__file__, "short_answers"))
def test_short_answers_are_judged_by_words_and_whole_numbers(answer, score):
    assert judge(answer).raw_score == score


def test_answers_below_the_length_cutoff_pass_unread():
    short, long = "In 1999.", "It was built in 1999."
    assert [judge(answer).score for answer in (short, long)] == ["FAIL", "FAIL"]
    cut = [judge(answer, length_cutoff=3) for answer in (short, long)]
    assert [verdict.score for verdict in cut] == ["PASS", "FAIL"]
    assert (cut[0].raw_score, cut[0].sentences[0].label) == (0.0, "NO_INFO")
    assert "fewer than 3 words" in cut[0].reasoning[0]
    assert cut[0].judge.version == "1-overlap-cutoff3"
    (named,) = load_judge("token-similarity?length_cutoff=3")([Example(context="x", answer=short)])
    assert named.score == "PASS"


def test_one_wrong_number_spoils_a_sentence_but_the_number_of_a_list_item_does_not():
    verdict = judge("2. The lighthouse was built in 1874.\n3. The lighthouse was built in 1875.")
    assert [sentence.raw_score for sentence in verdict.sentences] == [0.0, 1.0]
    assert [span.text for span in verdict.spans] == ["1875"]


@pytest.mark.parametrize(
    ("metric", "score"),
    [
        # Of lighthouse, built and offshore two are found; "the" and "was" do not count.
        ("overlap", 1 - 2 / 3),
        # 1- to 4-grams: 4/5, 2/4, 0/3, 0/2.
        ("bleu", 1 - (4 / 5 + 2 / 4) / 4),
        # ROUGE-1 4/5, ROUGE-2 2/4, ROUGE-L 4/5.
        ("rouge", 1 - (4 / 5 + 2 / 4 + 4 / 5) / 3),
    ],
)
def test_scores_by_hand(metric, score):
    verdict = judge("The lighthouse was built offshore.", metric=metric)
    assert verdict.raw_score == pytest.approx(score, abs=1e-4)
    assert verdict.judge.version == f"1-{metric}"


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("answer", "score"), [(CONTEXT[0], 0.0), ("Museum.", 0.0), ("Castle.", 1.0)]
)
def test_what_is_copied_and_one_word(metric, answer, score):
    assert judge(answer, metric=metric).raw_score == score


TEXT = st.text(st.sampled_from("ab 1.,\n'’-é語🎉\u0301%?!"), min_size=1, max_size=60).filter(
    str.strip
)


@pytest.mark.fuzz
@given(answer=TEXT, context=TEXT, metric=st.sampled_from(METRICS))
def test_any_text_gets_a_verdict_with_true_offsets(answer, context, metric):
    example = Example(context=(context, " "), answer=answer)
    alone = TokenSimilarity(metric)([example])
    together = TokenSimilarity(metric)([Example(context="a b", answer="b 1"), example])
    assert together[1:] == alone
    (verdict,) = alone
    assert 0.0 <= verdict.raw_score <= 1.0
    for span in verdict.spans:
        assert answer[span.start : span.end] == span.text
    for sentence in verdict.sentences:
        assert (sentence.raw_score is None) == (sentence.label == "NO_INFO")
        for evidence in sentence.evidence:
            assert example.context[evidence.document][evidence.start : evidence.end].strip()
