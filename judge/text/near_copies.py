"""Sentences that copy one of a document but for a word or two, and what these turn round.

A claim that repeats a sentence word for word, and says "not", another number, another unit or the
opposite word, or has two words in each other's place, is contradicted by it whatever a model
thinks. Rules for English, made to miss: what differs in more than that is left alone.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Literal, NamedTuple

from .spelled import find_spelled
from .tokens import STOP_WORDS, Token, stem, words
from .units import units

Kind = Literal["negation", "opposite", "number", "unit", "swap"]
Range = tuple[int, int]

_LEAST = 3  # content words that the two share, or one less where nothing else differs
_MOST = 200  # words of a sentence: longer ones take long to align
_SHARE = 0.75  # of the shorter sentence's content words that the other one has as well
_NEGATIONS = frozenset(("not", "never", "no"))
_NEITHER = frozenset(("neither", "nor"))
_HELPERS = frozenset(("do", "does", "did"))  # come and go with a negation
_IRREGULAR = {"ca": "can", "wo": "will", "sha": "shall"}
# Beside a negation they say how much is denied, which need not be the whole sentence.
_LIMITS = frozenset(
    """after all always before both every everyone fewer if just less longer merely more necessarily
    only simply than unless until yet""".split()  # noqa: SIM905
)
# Beside a number they say that it is one of several, a bound or a guess.
_LOOSE = frozenset(
    """about above almost approximately around at below between least less more most nearly over
    roughly some than to under up within""".split()  # noqa: SIM905
)
_OTHERS = frozenset(("another", "one", "other", "others"))
# What they relate may change places.
_MUTUAL = frozenset(
    """alongside between border borders cousin different equal equals married met near neighbour
    next partner same similar sister together twin versus vs with""".split()  # noqa: SIM905
)
# They may come and go where nothing else changes.
_JOINTS = frozenset("also and at but in its on so that then this when while".split())  # noqa: SIM905
_CLAUSE_WORDS = frozenset(
    "although and as because but or since so though when which while who".split()  # noqa: SIM905
)
_LISTED = re.compile(r"\s*(?:[,;/&]|,?\s*\band\b)\s*(?:(?:the|an?)\s)?", re.IGNORECASE)
_CLAUSE_MARK = re.compile(r"[,;:.()–—]")
_OPPOSITES = frozenset(
    pair
    for line in json.loads(
        files(__package__).joinpath("opposites.json").read_text(encoding="utf-8")
    )
    for one, other in [line.split("/")]
    for pair in ((one, other), (other, one))
)
_HAS_OPPOSITE = frozenset(one for one, _ in _OPPOSITES)


class Change(NamedTuple):
    """What a near-copy says otherwise, as ranges of the two sentences."""

    kind: Kind
    source: Range
    claim: Range


class _Word(NamedTuple):
    start: int
    end: int
    form: str
    key: str  # by which it is compared


class _Sentence(NamedTuple):
    text: str
    words: list[_Word]

    def range(self, first: int, last: int) -> Range:
        """Return the characters of the words from the first to the last, those there are."""
        within = self.words[max(first, 0) : last + 1] or self.words[-1:]
        return within[0].start, within[-1].end


class _Edit(NamedTuple):
    """Words of the source, from `a` to before `b`, that are those of the claim from `c` to `d`."""

    a: int
    b: int
    c: int
    d: int


class _Pair(NamedTuple):
    source: _Sentence
    claim: _Sentence
    edits: list[_Edit]


def find_changes(source: str, claim: str) -> list[Change] | None:
    """Return what a claim turns round of a sentence that it copies; nothing where nothing is known.

    None where it is no near-copy, or differs in so much that one turn may cancel another.
    """
    sentences = _Sentence(source, _read(source)), _Sentence(claim, _read(claim))
    least = min(sum(map(_is_content, one.words)) for one in sentences)
    if max(len(one.words) for one in sentences) > _MOST:
        return None
    if not least or source.rstrip().endswith("?") or claim.rstrip().endswith("?"):
        return None
    if swap := _swap(*sentences):
        return [swap]
    pair = _Pair(*sentences, _in_order(*sentences))
    changes = _turns(pair)
    lost = [word for one in pair.edits for word in pair.source.words[one.a : one.b]]
    shared = sum(map(_is_content, pair.source.words)) - sum(map(_is_content, lost))
    turned = sum(one.kind != "number" for one in changes)  # another number may be a sum or a share
    if shared + turned < _SHARE * least:
        return None
    if changes and shared + (len(pair.edits) == turned) < _LEAST:
        return None
    if len(changes) > 1 and {one.kind for one in changes} != {"number"}:
        return None  # two turns may cancel each other
    return changes


@lru_cache(256)  # a document's sentence is compared with each of an answer's
def _read(text: str) -> list[_Word]:
    return [one for token in words(text) for one in _forms(text, token)]


def _forms(text: str, token: Token) -> Iterator[_Word]:
    form = token.form.replace("’", "'")
    if form == "cannot":
        form = "can't"
    if form.endswith("n't"):
        if helper := _IRREGULAR.get(form[:-3], form[:-3]):
            yield _Word(token.start, token.end, helper, helper)
        form = "not"
    if form == "a" and text[token.start] == "A" and token.start:
        form = "A"  # "company A" has a name, "A company" an article
    if form not in ("a", "an", "the"):
        yield _Word(token.start, token.end, form, form if form in STOP_WORDS else stem(form))


def _is_content(word: _Word) -> bool:
    return word.form not in STOP_WORDS


def _in_order(source: _Sentence, claim: _Sentence) -> list[_Edit]:
    matcher = SequenceMatcher(None, _keys(source), _keys(claim), autojunk=False)
    return [_Edit(*places) for kind, *places in matcher.get_opcodes() if kind != "equal"]


def _by_place(source: _Sentence, claim: _Sentence) -> list[_Edit]:
    """Compare two sentences of one length word by word; of others nothing is known."""
    edits: list[_Edit] = []
    if len(source.words) != len(claim.words):
        return edits
    for at, (one, other) in enumerate(zip(source.words, claim.words, strict=True)):
        if one.key == other.key:
            continue
        if edits and edits[-1].b == at:
            edits[-1] = edits[-1]._replace(b=at + 1, d=at + 1)
        else:
            edits.append(_Edit(at, at + 1, at, at + 1))
    return edits


def _keys(sentence: _Sentence) -> list[str]:
    return [word.key for word in sentence.words]


def _turns(pair: _Pair) -> list[Change]:
    found = [find(pair, edit) for edit in pair.edits for find in (_negation, _replacement)]
    return [change for change in found if change]


def _negation(pair: _Pair, edit: _Edit) -> Change | None:
    """Find a negation that one of the two has, over a clause that both have whole."""
    before, after = pair.source.words[edit.a : edit.b], pair.claim.words[edit.c : edit.d]
    denials = [word for word in (*before, *after) if word.form in _NEGATIONS]
    if len(denials) != 1 or any(
        word.form not in _HELPERS for word in (*before, *after) if word not in denials
    ):
        return None
    forms = [[word.form for word in one.words] for one in pair[:2]]
    counts = [sum(form in _NEGATIONS for form in each) for each in forms]
    if abs(counts[0] - counts[1]) != 1 or _NEITHER & {*forms[0], *forms[1]}:
        return None
    denied, first, last = pair.claim, edit.c, edit.d
    changed = {at for one in pair.edits for at in range(one.c, one.d)}
    if denials[0] in before:
        denied, first, last = pair.source, edit.a, edit.b
        changed = {at for one in pair.edits for at in range(one.a, one.b)}
    if first and denied.text[denials[0].start].isupper():
        return None  # a word of a title
    end = _clause_end(denied, last)
    around = denied.words[max(first - 1, 0) : end]
    lost = any(at in changed and denied.words[at].form not in _HELPERS for at in range(last, end))
    if last == end or lost or any(word.form in _LIMITS for word in around):
        return None
    return Change(
        "negation",
        pair.source.range(edit.a - 1, edit.b),
        pair.claim.range(edit.c - 1, edit.d),
    )


def _clause_end(sentence: _Sentence, start: int) -> int:
    """Return the number of the first word past the clause that goes on with the word `start`."""
    for at in range(max(start, 1), len(sentence.words)):
        gap = sentence.text[sentence.words[at - 1].end : sentence.words[at].start]
        if _CLAUSE_MARK.search(gap) or sentence.words[at].form in _CLAUSE_WORDS:
            return at
    return len(sentence.words)


def _replacement(pair: _Pair, edit: _Edit) -> Change | None:
    """Find a word in the place of its opposite, of another number or of another unit."""
    before, after = pair.source.words[edit.a : edit.b], pair.claim.words[edit.c : edit.d]
    if not (1 <= len(before) <= 2 and 1 <= len(after) <= 2):
        return None
    told = [[w for w in each if _tells(w)] for each in (before, after)]
    if [len(each) for each in told] != [1, 1]:
        return None
    (one,), (other,) = told
    kind: Kind | None = None
    if (one.form, other.form) in _OPPOSITES:
        kind = "opposite"
    elif edit.a and _value(pair.source.words[edit.a - 1]) and _differ_in_unit(one, other):
        kind = "unit"
    elif _differ_in_number(pair, edit, one, other):
        kind = "number"
    return kind and Change(kind, (one.start, one.end), (other.start, other.end))


def _tells(word: _Word) -> bool:
    return _is_content(word) or word.form in _HAS_OPPOSITE


def _differ_in_unit(one: _Word, other: _Word) -> bool:
    known = [set(units(word.form)) for word in (one, other)]
    return all(known) and not known[0] & known[1]


def _differ_in_number(pair: _Pair, edit: _Edit, one: _Word, other: _Word) -> bool:
    """Return whether two words are different counts of the same thing, neither of them loose."""
    values = _value(one), _value(other)
    if None in values or values[0] == values[1] or not edit.a or not edit.c:
        return False  # a number at the beginning may be a list's
    near = pair.source.words[max(edit.a - 3, 0) : edit.b + 2]
    near += pair.claim.words[max(edit.c - 3, 0) : edit.d + 2]
    left = [word for each in pair.edits for word in pair.source.words[each.a : each.b]]
    return not (
        any(word.form in _LOOSE for word in near)
        or any(word.form in _OTHERS for side in pair[:2] for word in side.words)
        or any(_value(word) == values[1] for word in pair.source.words)
        or any(_value(word) for word in left if word != one)  # which it may be the sum of
        or _rounds(*values)
    )


def _value(word: _Word) -> str | float | None:
    """Return the value of a number; of one in several parts (`9:15`) the text."""
    if word.form[0].isdigit():
        plain = word.form.replace(",", "")
        return float(plain) if plain.replace(".", "", 1).isdigit() else word.form
    for found in find_spelled(word.form):
        return float(found.value)
    return None


def _rounds(one: str | float | None, other: str | float | None) -> bool:
    if not isinstance(one, float) or not isinstance(other, float):
        return isinstance(one, str) != isinstance(other, str)
    return any(round(one, digits) == other for digits in range(-9, 3))


def _swap(source: _Sentence, claim: _Sentence) -> Change | None:
    """Find two words, or runs of words, in each other's place, with others between them.

    Apart from that the claim may leave words out, and join its clauses in another way.
    """
    forms = [Counter(w.form for w in one.words if not _is_content(w)) for one in (source, claim)]
    joined = (forms[0] - forms[1]) + (forms[1] - forms[0])
    if not joined.keys() <= _JOINTS or _MUTUAL & {word.form for word in source.words}:
        return None
    told = [one._replace(words=[*filter(_is_content, one.words)]) for one in (source, claim)]
    was, now = map(_keys, told)
    for edits in (_in_order(*told), _by_place(*told)):
        moved = [one for one in edits if one.c < one.d]
        left = sum(one.b - one.a for one in edits) - sum(one.b - one.a for one in moved)
        if len(moved) != 2 or left > (1 - _SHARE) * len(was):
            continue
        one, other = moved
        first, second = was[one.a : one.b], was[other.a : other.b]
        exchanged = (first, second) == (now[other.c : other.d], now[one.c : one.d])
        if not first or not second or not exchanged:
            continue
        if _are_apart(source, told[0].words[one.b - 1 : other.a + 1]):
            ranges = told[0].range(one.a, other.b - 1), told[1].range(one.c, other.d - 1)
            return Change("swap", *ranges)
    return None


def _are_apart(source: _Sentence, told: list[_Word]) -> bool:
    """Return whether other words stand between the first and the last, which are no list's."""
    gaps = [source.text[one.end : other.start] for one, other in pairwise(told)]
    start, end = told[0].end, told[-1].start
    between = {word.form for word in source.words if start <= word.start < end}
    listed = "or" in between or (_LISTED.fullmatch(gaps[0]) and _LISTED.fullmatch(gaps[-1]))
    return not listed and (len(told) > 2 or bool(between & _NEGATIONS))
