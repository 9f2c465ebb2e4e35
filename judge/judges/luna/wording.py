"""A claim's quantities in the documents' words: `half a year` is read as `six months`.

An encoder of words takes another unit, or a figure for a word, for another quantity, and computes
nothing. What is equal is known, and so is what one step of arithmetic gives, so the claim is read
with the words that it was trained to compare.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from tokenizers import Tokenizer

from ...text.meant import Meant
from ...text.quantities import Literal, find_literals
from ...text.rounded import is_rounded
from ...text.sums import Numbers, say_computed
from .claims import Claim
from .novelty import NewWord

Theirs = Sequence[tuple[str, Numbers]]
"""The documents' texts, with the numbers, dates and times of each."""


def in_their_words(
    claim: Claim,
    question: str,
    new: tuple[NewWord, ...],
    texts: Iterable[str],
    tokenizer: Tokenizer,
    longest: int,
) -> tuple[Claim, tuple[NewWord, ...]]:
    """Return the claim with the documents' words for what equals a quantity of theirs.

    Tokens of these words have the range of the claim's own in the answer. Unchanged where the claim
    would have more than `longest` tokens.

    Args:
        claim: as it was cut.
        question: that it answers; may be empty.
        new: its words that are new to the documents; a quantity without one is read as it is.
        texts: of the documents, what the claim is read with.
        tokenizer: the encoder's.
        longest: tokens of a claim.

    Returns:
        The claim, and those of the new words that are still in it.
    """
    quantities = [own for own in find_literals(claim.text) if _holds(own, new)] if new else []
    if not quantities:
        return claim, new
    theirs = [(text, tuple(find_literals(text))) for text in texts]
    pairs = [
        (
            own,
            _equal(own, theirs)
            or _exact(own, claim.text, question, theirs)
            or _computed(own, claim.text, question, theirs),
        )
        for own in quantities
    ]
    changes = [(own, said) for own, said in pairs if said is not None]
    if not changes:
        return claim, new
    worded = _word(claim, changes, tokenizer)
    if len(worded.ids) > longest:
        return claim, new
    return worded, tuple(w for w in new if not any(_overlaps(own, w) for own, _ in changes))


def _word(claim: Claim, changes: Sequence[tuple[Literal, str]], tokenizer: Tokenizer) -> Claim:
    """Return the claim with other words for some of its quantities, given in order."""
    text, places, end = "", [], 0  # the range in the claim of each character of `text`
    for own, said in changes:
        if claim.text.startswith(".", own.end):
            said = said.removesuffix(".")  # of "p.m."
        text += claim.text[end : own.start] + said
        places += [(i, i + 1) for i in range(end, own.start)] + [(own.start, own.end)] * len(said)
        end = own.end
    text += claim.text[end:]
    places += [(i, i + 1) for i in range(end, len(claim.text))]
    encoding = tokenizer.encode(text, add_special_tokens=False)
    offsets = [
        (places[start][0], places[max(start, end - 1)][1]) for start, end in encoding.offsets
    ]
    return claim._replace(
        text=text,
        ids=np.array(encoding.ids, dtype=np.int64),
        offsets=np.array(offsets, dtype=np.int64).reshape(-1, 2) + claim.start,
    )


def _holds(own: Literal, new: Sequence[NewWord]) -> bool:
    return any(_overlaps(own, word) for word in new)


def _overlaps(own: Literal, word: NewWord) -> bool:
    return own.start < word[1] and word[0] < own.end


def _equal(own: Literal, theirs: Theirs) -> str | None:
    """Return the documents' first words for a quantity; None where they have none."""
    same = (text[o.start : o.end] for text, others in theirs for o in others if _same(own, o))
    return next(same, None)


def _exact(own: Literal, claim: str, question: str, theirs: Theirs) -> str | None:
    """Return the documents' words for what a quantity says in round figures; None without any."""
    for text, others in theirs:
        meant = Meant(f"{claim} {question}", text, others)
        for other in others:
            if is_rounded(own, claim, other) and meant.are([other]):
                return text[other.start : other.end]
    return None


def _computed(own: Literal, claim: str, question: str, theirs: Theirs) -> str | None:
    """Return the documents' words for the numbers that give a quantity; None where none do."""
    said = (say_computed(own, claim, question, text, others) for text, others in theirs)
    return next((each for each in said if each), None)


def _same(one: Literal, other: Literal) -> bool:
    """Return whether some reading of the one is a reading of the other; no third is a three."""
    values = ({(n.value, n.dimension) for n in each.numbers} for each in (one, other))
    return one.ordinal == other.ordinal and bool(
        set.intersection(*values)
        or set(one.days).intersection(other.days)
        or set(one.minutes).intersection(other.minutes)
    )
