import numpy as np
import pytest
from hypothesis import assume, given

from moonlynx.judge.backends.encoder import TokenType
from moonlynx.judge.contract.steps import finish
from moonlynx.judge.judges.luna.inputs import Limits, assemble, find_specials
from moonlynx.judge.judges.luna.novelty import claim_types, new_words
from moonlynx.judge.judges.luna.windows import read_claims

from ....strategies import filled

LIMITS = Limits(64, 12, 20)
WORD, NAME, NUMBER = TokenType.NEW_WORD, TokenType.NEW_NAME, TokenType.NEW_NUMBER


@pytest.mark.parametrize(
    ("claim", "new"),
    [
        ("The tower opened in 1932.", []),
        ("The towers opened in 1932.", []),  # one stem
        ("The tower opened in 1950.", [("1950", NUMBER)]),
        ("The tower in Oslo opened.", [("Oslo", NAME)]),
        ("Oslo has the tower.", [("Oslo", WORD)]),  # its capital may be that of the sentence
        ("It is a green tower of 12,000 bricks.", [("green", WORD), ("bricks", WORD)]),
        ("It was the.", []),
        ("Two tin towers opened.", [("Two", WORD)]),  # so are plurals
        ("No, the tower opened.", []),
        ("The tower has no tins.", [("no", WORD)]),
    ],
)
def test_what_no_document_holds(tokenizer, claim, new):
    documents = ["The tower opened in 1932.", "It is made of 12000 tins."]
    (found,) = finish(read_claims("Is Oslo green?", claim, documents, tokenizer, LIMITS, 1))
    assert [(claim[start:end], kind) for start, end, kind in found.new] == new


def test_the_words_of_unread_blocks_are_known(tokenizer):
    documents = [f"Fact {n} is of no use." for n in range(40)]
    (found,) = finish(read_claims("", "Fact 3 is like fact 39.", documents, tokenizer, LIMITS, 1))
    assert found.new == ()
    assert len(found.windows[0].blocks) < len(documents)


def test_every_token_of_a_new_word_is_told(tokenizer):
    claim = "the tower is xyz 1950"
    encoding = tokenizer.encode(claim, add_special_tokens=False)
    offsets = np.array(encoding.offsets)
    types = claim_types(new_words(claim, {"tower"}), offsets)
    told = {encoding.tokens[i]: kind for i, kind in enumerate(types)}
    assert told == {
        **dict.fromkeys(("the", "tower", "is"), TokenType.CLAIM),
        **dict.fromkeys(("x", "##y", "##z"), WORD),
        "1950": NUMBER,
    }
    reading = assemble([4, 5], [6], encoding.ids, types, find_specials(tokenizer), LIMITS)
    before = [TokenType.BEFORE] * reading.first
    assert reading.types.tolist() == [*before, *types, TokenType.CLAIM]


@pytest.mark.fuzz
@given(filled, filled)
def test_words_of_the_document_are_never_new(tokenizer, document, claim):
    for found in finish(read_claims("", claim, [document], tokenizer, LIMITS, 1)):
        assert all(0 <= start < end <= len(found.claim.text) for start, end, _ in found.new)
    # A word of more tokens than a block holds is cut, and its pieces are other words.
    assume(all(len(tokenizer.encode(word).ids) <= 8 for word in document.split()))
    for found in finish(read_claims("", document, [document], tokenizer, LIMITS, 1)):
        assert len(found.claim.text) < len(document.strip()) or not found.new
