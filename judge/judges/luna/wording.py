"""A claim's quantities, periods and names in the documents' words: `half a year` as `six months`.

An encoder of words takes another unit, or a figure for a word, for another quantity, computes
nothing, and knows few acronyms. What is equal is known, and so is what one step of arithmetic
gives, so the claim is read with the words that it was trained to compare.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from tokenizers import Tokenizer

from ...text.acronyms import Name, find_full, find_short
from ...text.meant import Beside, years_of
from ...text.periods import Period, find_periods
from ...text.quantities import Literal, find_literals
from ...text.rounded import find_exact
from ...text.sums import say_computed
from .claims import Claim
from .novelty import NewWord

_Place = Literal | Period | Name


def in_their_words(
    claim: Claim,
    question: str,
    new: tuple[NewWord, ...],
    texts: Sequence[str],
    tokenizer: Tokenizer,
    longest: int,
) -> tuple[Claim, tuple[NewWord, ...]]:
    """Return the claim with the documents' words for what it says otherwise than they do.

    Tokens of these words have the range of the claim's own in the answer. Unchanged where the claim
    would have more than `longest` tokens.

    Args:
        claim: as it was cut.
        question: that it answers; may be empty.
        new: its words that are new to the documents; what has none of them is read as it is.
        texts: of the documents, what the claim is read with.
        tokenizer: the encoder's.
        longest: tokens of a claim.

    Returns:
        The claim, and those of the new words that are still in it.
    """
    changes = _changes(claim.text, question, new, texts) if new else []
    if not changes:
        return claim, new
    worded = _word(claim, changes, tokenizer)
    if len(worded.ids) > longest:
        return claim, new
    return worded, tuple(w for w in new if not any(_overlaps(own, w) for own, _ in changes))


def _changes(
    claim: str, question: str, new: Sequence[NewWord], texts: Sequence[str]
) -> list[tuple[Name, str]]:
    """Return what is said otherwise than the documents say it, in order, and their words for it."""
    theirs = [Beside(claim, question, text) for text in texts]
    found: list[tuple[_Place, str | None]] = [
        (own, _in_period(own, theirs)) for own in find_periods(claim) if _holds(own, new)
    ]
    found += [
        (own, _equal(own, theirs) or _exact(own, theirs) or _computed(own, theirs))
        for own in find_literals(claim)
        if _holds(own, new)
    ]
    found += [(own, said) for own, said in _names(claim, texts) if _holds(own, new)]
    changes: list[tuple[Name, str]] = []
    for own, said in sorted(found, key=lambda each: each[0][:2]):
        if said is not None and (not changes or changes[-1][0].end <= own.start):
            changes.append((Name(own.start, own.end), said))
    return changes


def _word(claim: Claim, changes: Sequence[tuple[Name, str]], tokenizer: Tokenizer) -> Claim:
    """Return the claim with other words at some places, given in order."""
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


def _holds(own: _Place, new: Sequence[NewWord]) -> bool:
    return any(_overlaps(own, word) for word in new)


def _overlaps(own: _Place, word: NewWord) -> bool:
    return own.start < word[1] and word[0] < own.end


def _equal(own: Literal, theirs: Sequence[Beside]) -> str | None:
    """Return the documents' first words for a quantity; None where they have none."""
    same = (_words(one, other) for one in theirs for other in one.numbers if _same(own, other))
    return next(same, None)


def _exact(own: Literal, theirs: Sequence[Beside]) -> str | None:
    """Return the documents' words for what a quantity says in round figures; None without any."""
    exact = (
        _words(one, other)
        for one in theirs
        for other in find_exact(own, one)
        if one.is_about([other])
    )
    return next(exact, None)


def _computed(own: Literal, theirs: Sequence[Beside]) -> str | None:
    """Return the documents' words for the numbers that give a quantity; None where none do."""
    return next((said for one in theirs if (said := say_computed(own, one))), None)


def _in_period(own: Period, theirs: Sequence[Beside]) -> str | None:
    """Return a year of the documents that a decade or century holds; None without any."""
    held = (
        str(year)
        for one in theirs
        for other in one.numbers
        for year in years_of(other, one.text)
        if any(year in years for years in own.years) and one.is_about([other])
    )
    return next(held, None)


def _words(beside: Beside, number: Literal) -> str:
    return beside.text[number.start : number.end]


def _names(claim: str, texts: Sequence[str]) -> Iterator[tuple[Name, str]]:
    """Yield names in short whose full form the documents have, and the other way round."""
    own = [*find_short(claim)]
    held = {claim[name.start : name.end] for name in own}
    for text in texts:
        for name in own:
            for full in find_full(text, claim[name.start : name.end]):
                yield name, text[full.start : full.end]
        for short in dict.fromkeys(text[name.start : name.end] for name in find_short(text)):
            if short not in held:
                yield from ((full, short) for full in find_full(claim, short))


def _same(one: Literal, other: Literal) -> bool:
    """Return whether some reading of the one is a reading of the other; no third is a three."""
    values = ({(n.value, n.dimension) for n in each.numbers} for each in (one, other))
    return one.ordinal == other.ordinal and bool(
        set.intersection(*values)
        or set(one.days).intersection(other.days)
        or set(one.minutes).intersection(other.minutes)
    )
