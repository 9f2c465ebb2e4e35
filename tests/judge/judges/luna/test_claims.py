import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import filled, prose

from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.luna.blocks import read_blocks
from moonlynx.judge.judges.luna.claims import cut_tokens, split_claims
from moonlynx.judge.judges.luna.inputs import Limits
from moonlynx.judge.registry import load_judge
from moonlynx.judge.text import read_markup

LIMITS = Limits(64, 12, 20)


def test_claims_are_sentences_without_their_list_marks_and_uncut_where_empty(tokenizer):
    answer = "Sure! Here:\n- The tower is red.\n2. It opened in 1932."
    claims = list(split_claims("Is it red?", answer, tokenizer, LIMITS))
    assert [claim.text for claim in claims if not claim.empty][-2:] == [
        "The tower is red.",
        "It opened in 1932.",
    ]
    assert claims[0].empty
    answer = "I'm sorry, but I don't know the answer to your question. The tower is red."
    claims = list(split_claims("", answer, tokenizer, LIMITS))
    assert [claim.empty for claim in claims] == [True, False]


def test_where_a_link_leads_is_not_read(tokenizer):
    plain, linked = (
        next(split_claims("", answer, tokenizer, Limits(96, 12, 60)))
        for answer in ("The tower is [red].", "The tower is [red](https://example.org/tower).")
    )
    assert linked.ids.tolist() == plain.ids.tolist()
    assert linked.text[linked.offsets[-1][0] :] == "."


def test_the_lead_keeps_the_end_of_question_and_answer(tokenizer):
    answer = "The tower is red. " * 4 + "It is wide."
    claims = list(split_claims("Is the bridge green or red?", answer, tokenizer, LIMITS))
    assert claims[0].lead == "Is the bridge green or red?"
    # Six tokens each: the end of the question, and that of the answer.
    assert claims[-1].lead == "bridge green or red? . The tower is red."
    assert len(claims[-1].lead_ids) == 12
    (alone,) = split_claims("", "It is wide.", tokenizer, LIMITS)
    assert (alone.lead, len(alone.lead_ids)) == ("", 0)
    assert all(not c.lead for c in split_claims("Why?", answer, tokenizer, Limits(64, 0, 20)))


def test_a_long_sentence_is_cut_between_words_and_a_long_word_within(tokenizer):
    answer = "The tower, " + "which is red and " * 10 + "made of tin, opened in 1932."
    claims = list(split_claims("", answer, tokenizer, LIMITS))
    assert len(claims) > 2
    assert " ".join(claim.text for claim in claims) == answer
    lengths = [len(claim.ids) for claim in claims]
    assert max(lengths) <= 20
    assert min(lengths) >= 8
    claims = list(split_claims("", "q" * 90 + ".", tokenizer, LIMITS))
    assert "".join(claim.text for claim in claims) == "q" * 90 + "."
    assert max(len(claim.ids) for claim in claims) <= 20


@pytest.mark.fuzz
@given(
    filled | prose.map(lambda text: text.encode("utf-8", "ignore").decode()), filled | st.just("")
)
def test_any_answer_is_cut_at_true_offsets(tokenizer, answer, question):
    previous = 0
    for claim in split_claims(question, answer, tokenizer, LIMITS):
        assert previous <= claim.start < claim.end <= len(answer)
        assert answer[claim.start : claim.end].strip() == answer[claim.start : claim.end]
        assert claim.text == read_markup(answer).text[claim.start : claim.end]
        assert claim.offsets.shape == (len(claim.ids), 2)
        assert claim.empty or len(claim.ids) <= 20
        assert len(claim.lead_ids) <= 12
        for start, end in claim.offsets:
            assert claim.start <= start < end <= claim.end
        previous = claim.end


@pytest.mark.fuzz
@given(st.text("ab ", max_size=80), st.integers(1, 30))
def test_cuts_cover_all_tokens(tokenizer, text, limit):
    encoding = tokenizer.encode(text, add_special_tokens=False)
    ranges = cut_tokens(encoding, limit)
    assert [i for first, last in ranges for i in range(first, last)] == [*range(len(encoding.ids))]
    assert all(last - first <= limit for first, last in ranges)


class Watched:
    """A tokenizer that counts the items of the lists that its encodings copy out."""

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer
        self.copied = 0

    def __getattr__(self, name):
        return getattr(self._tokenizer, name)

    def encode(self, *texts, **options):
        return WatchedEncoding(self._tokenizer.encode(*texts, **options), self)

    def encode_batch(self, *texts, **options):
        found = self._tokenizer.encode_batch(*texts, **options)
        return [WatchedEncoding(one, self) for one in found]


class WatchedEncoding:
    def __init__(self, encoding, watched):
        self._encoding = encoding
        self._watched = watched

    def __getattr__(self, name):
        found = getattr(self._encoding, name)
        self._watched.copied += len(found)
        return found


@pytest.mark.parametrize("text", ["[ ", "It is (so) and ", "1,"])
@pytest.mark.parametrize("read", ["claims", "blocks"])
def test_what_a_long_sentence_takes_grows_with_its_length(tokenizer, text, read):
    def copied(times):
        watched = Watched(tokenizer)
        if read == "claims":
            assert len(list(split_claims("", text * times, watched, LIMITS))) > times // 40
        else:
            assert len(list(read_blocks(text * times, 0, watched, 20))) > times // 40
        return watched.copied

    assert copied(2_000) < 3 * copied(1_000)


ASKED = Path(__file__).parents[2] / "asked" / "bare.jsonl"


@pytest.mark.heavy
def test_sixty_bare_answers_are_judged_by_their_words_and_no_more():
    """30 of 60 are faithful. Names, numbers and dates are told apart; yes and no are not."""
    rows = [
        (Example(context=world["context"], question=question, answer=answer), label)
        for world in map(json.loads, ASKED.read_text().splitlines())
        for question, right, wrong in world["asked"]
        for answer, label in ((right, "PASS"), (wrong, "FAIL"))
    ]
    assert len(rows) == 60
    verdicts = load_judge("luna:mini")([example for example, _ in rows])
    right = [v.score == label for v, (_, label) in zip(verdicts, rows, strict=True)]
    named = [e.answer.split(",")[0].strip(".").lower() not in ("yes", "no") for e, _ in rows]
    assert sum(one for one, is_named in zip(right, named, strict=True) if is_named) >= 38
    assert sum(right) >= 48
