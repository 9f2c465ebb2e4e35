import json
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import filled, prose
from tokenizers import Tokenizer, models, processors

from moonlynx.judge.contract.steps import finish
from moonlynx.judge.judges.luna.blocks import read_blocks
from moonlynx.judge.judges.luna.inputs import Limits, Specials, find_specials, premise_room
from moonlynx.judge.judges.luna.windows import choose_windows, read_claims

LIMITS = Limits(64, 12, 20)
LONGEST = premise_room(LIMITS, LIMITS.lead, LIMITS.claim) // 2
NOISE = [f"Fact {number} is about a thing of no use." for number in range(40)]


def read(tokenizer, claim, documents, windows=1, question="", *, closest=False):
    return finish(
        read_claims(question, claim, documents, tokenizer, LIMITS, windows, closest=closest)
    )


def test_short_contexts_and_records_are_read_as_they_are(tokenizer):
    context = ["The bridge is red.", "It is wide."]
    found = read(tokenizer, "It is red. It is wide.", context)
    windows = [window.text for one in found for window in one.windows]
    assert windows == ["The bridge is red. It is wide."] * 2
    assert [block.document for block in found[0].windows[0].blocks] == [0, 1]
    document = json.dumps({"fee": 3, "open": True})
    (block,) = list(read_blocks(document, 2, tokenizer, LONGEST))
    assert (block.text, block.document) == ("fee: 3; open.", 2)
    assert (block.start, block.end) == (0, len(document))


@pytest.mark.parametrize("closest", [False, True])
def test_what_a_record_has_not_is_read_with_claims_that_name_it(tokenizer, closest):
    record = {"lot": {"car": True, "bus": False, "van": False}, "hot tub": False}
    document = json.dumps(record)
    answer = "It has seats. It has a bus. The tub is cold."
    seats, bus, tub = read(tokenizer, answer, [document], closest=closest)
    texts = [one.windows[0].text for one in (seats, bus, tub)]
    absent = (f"lot: car. there is no {name}." for name in ("lot bus", "hot tub"))
    assert texts == ["lot: car.", *absent]
    block = bus.windows[0].blocks[1]
    assert document[block.start : block.end] == '"bus": false'
    # it is in the documents all the same
    assert [tub.claim.text[start:end] for start, end, _ in tub.new] == ["cold"]


def test_what_the_question_names_is_read_with_a_bare_answer(tokenizer):
    for question, said in (("Has it a bus?", "there is no bus."), ("Has it a car?", "")):
        (one,) = read(tokenizer, "No.", ['{"bus": false}'], question=question)
        assert [window.text for window in one.windows] == [said]


def test_what_a_list_denies_is_read_with_claims_that_name_it(tokenizer):
    said = ["It has a bar.", "No gym.", "A dog is not let in.", "It can't ski."]
    answer = "It has a gym. It has a bar."
    gym, bar = read(tokenizer, answer, [" ".join(said)])
    assert [one.windows[0].text for one in (gym, bar)] == [" ".join(said[:2]), said[0]]
    # two denials are no list, nor are a few among many sentences
    for short in (said[:3], [*said, *NOISE[:10]]):
        (one,) = read(tokenizer, "It has a bar.", [" ".join(short)], windows=0)
        assert " ".join(w.text for w in one.windows) == " ".join(short)


def test_a_record_of_nothing_leaves_nothing_to_read(tokenizer):
    for closest in (False, True):
        (one,) = read(tokenizer, "It is red.", ['{"garage": false}'], closest=closest)
        assert [window.text for window in one.windows] == [""]
        assert one.closest is None


def test_the_blocks_that_fit_best_are_read(tokenizer):
    document = " ".join([*NOISE[:20], "The tower opened in 1932.", *NOISE[20:]])
    (one,) = read(tokenizer, "The tower opened in 1950.", [document])
    (window,) = one.windows
    assert "The tower opened in 1932." in window.text
    # What stands beside it comes along.
    assert "no use. The tower opened in 1932. Fact 20" in window.text
    claim = "The tower is no use in 1950."
    (two,) = read(tokenizer, claim, [document], 2)
    assert len(two.windows) == 2
    starts = [block.start for window in two.windows for block in window.blocks]
    assert starts == sorted(starts)
    assert any("The tower opened" in window.text for window in two.windows)


def test_the_question_helps_to_choose_and_no_word_or_token_is_no_fault(tokenizer):
    documents = [*NOISE[:10], "The river is wide.", *NOISE[10:]]
    (one,) = read(tokenizer, "It is so.", documents, question="How wide is the river?")
    assert "river" in one.windows[0].text
    (one,) = read(tokenizer, "Zebras gallop.", NOISE)
    assert one.windows[0].text.startswith(NOISE[0])
    (one,) = read(tokenizer, "It is red.", ["\u200b\u200d\x01"])
    (window,) = one.windows
    assert (window.text, len(window.ids)) == ("", 0)


def test_the_block_that_fits_best_is_read_by_itself(tokenizer):
    documents = ["The bridge is red. It is wide.", "The tower opened in 1932. It is tin."]
    claim = "The tower opened in 1950."
    (one,) = read(tokenizer, claim, documents, closest=True)
    assert (one.closest.window.text, one.closest.share) == ("The tower opened in 1932.", 2 / 3)
    assert [window.text for window in one.read] == [" ".join(documents), documents[1][:25]]
    assert len(read(tokenizer, claim, documents)[0].read) == 1
    # Nothing would be new in it, or nothing is in it, or there is nothing.
    for nothing in ([documents[1][:25]], ["It is wide. It is red."], [], ["\u200b"]):
        assert read(tokenizer, claim, nothing, closest=True)[0].closest is None
    (asked,) = read(tokenizer, "It is so.", documents, question="What of the tower?", closest=True)
    assert asked.closest is None


def test_a_document_is_tokenised_once(tokenizer):
    document = "A river that no other test reads. It is wide."
    first = list(read_blocks(document, 0, tokenizer, LONGEST))
    second = list(read_blocks(document, 3, tokenizer, LONGEST))
    assert {block.document for block in second} == {3}
    assert all(a.ids is b.ids for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("document", ["aGVsbG8gd29ybGQ" * 6, f"The key: {'9f3b' * 20}, no more."])
def test_a_word_longer_than_a_block_is_read_as_training_reads_its_parts(tokenizer, document):
    blocks = list(read_blocks(document, 0, tokenizer, LONGEST))
    assert len(blocks) > 2
    assert "".join(block.text for block in blocks).replace(" ", "") == document.replace(" ", "")
    for block in blocks:
        assert document[block.start : block.end] == block.text
        assert len(block.ids) <= LONGEST
        said = tokenizer.encode(f" {block.text}", add_special_tokens=False)
        assert block.ids.tolist() == said.ids


@pytest.mark.fuzz
@given(filled | prose.map(lambda text: text.encode("utf-8", "ignore").decode()))
def test_blocks_of_any_document_have_true_ranges(tokenizer, document):
    for block in read_blocks(document, 0, tokenizer, LONGEST):
        assert 0 <= block.start < block.end <= len(document)
        assert 0 < len(block.ids) <= LONGEST
        assert block.text.strip()


@pytest.mark.fuzz
@given(st.lists(filled, min_size=1, max_size=4), filled, st.integers(0, 3))
def test_every_claim_is_read_and_windows_are_kept(tokenizer, context, answer, windows):
    blocks = list(
        chain(*(read_blocks(text, i, tokenizer, LONGEST) for i, text in enumerate(context)))
    )
    for claim, chosen, *_ in read(tokenizer, answer, context, windows):
        assert bool(chosen) != claim.empty
        assert not windows or len(chosen) <= windows
        room = premise_room(LIMITS, len(claim.lead_ids), len(claim.ids))
        assert all(len(window.ids) <= room for window in chosen)
        for window in chosen:
            assert window.ids.tolist() == [i for block in window.blocks for i in block.ids]
            # Training tokenises the text, judging joins the blocks' tokens: both read the same.
            encoded = tokenizer.encode(window.text, add_special_tokens=False).ids
            assert window.ids.tolist() == encoded
        if chosen and not windows:
            ranges = [(b.document, b.start, b.end) for window in chosen for b in window.blocks]
            assert ranges == [(b.document, b.start, b.end) for b in blocks]


@pytest.mark.fuzz
@given(st.data())
def test_windows_are_full_and_in_order(data):
    room, windows = data.draw(st.integers(8, 40)), data.draw(st.integers(1, 4))
    lengths = data.draw(st.lists(st.integers(1, room // 2), min_size=1, max_size=40))
    scores = data.draw(
        st.lists(st.floats(0, 9), min_size=len(lengths), max_size=len(lengths)).map(np.array)
    )
    chosen = choose_windows(np.array(lengths), scores, room, windows)
    flat = [index for window in chosen for index in window]
    assert 1 <= len(chosen) <= windows
    assert flat == sorted(set(flat))
    assert all(0 < sum(lengths[i] for i in window) <= room for window in chosen)
    left = set(range(len(lengths))) - set(flat)
    assert max((scores[i] for i in left), default=0) <= min(scores[i] for i in flat)


def tokenizer(*tokens):
    return Tokenizer(models.WordLevel({token: i for i, token in enumerate(tokens)}, "[UNK]"))


def test_special_tokens_are_found_by_name_or_as_the_tokenizer_sets_them():
    assert find_specials(tokenizer("[UNK]", "[SEP]", "[CLS]")) == Specials(cls=2, sep=1)
    assert find_specials(tokenizer("[UNK]", "<s>", "</s>")) == Specials(cls=1, sep=2)
    with pytest.raises(ValueError, match="neither"):
        find_specials(tokenizer("[UNK]", "<s>"))
    both = tokenizer("[UNK]", "[CLS]", "[SEP]", "<s>", "</s>")
    both.post_processor = processors.RobertaProcessing(("</s>", 4), ("<s>", 3))
    assert find_specials(both) == Specials(cls=3, sep=4)
