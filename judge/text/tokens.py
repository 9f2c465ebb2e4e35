"""Content tokens: the words of a text that can be looked for in another.

Stop words are left out and numbers are kept whole: "3.5" is one token, and "12,000" equals "12000".
Scripts written without spaces give overlapping pairs of characters instead of words.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

# Han, kana, Thai, Lao, Burmese and Khmer: no spaces between words.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_UNSPACED += "\uf900-\ufaff\U00020000-\U0003ffff"
# A word begins with a letter and takes the marks that combine with letters (Latin, Hebrew, Arabic,
# Indic), joiners, and apostrophes inside it.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
_MARKS += "\u0900-\u0963\u0966-\u0dff\u200c\u200d"
_LETTER = rf"(?![{_UNSPACED}])[^\W_]"
# Atomic groups: possessive ones match otherwise before Python 3.11.5 (CPython issue 106052).
_LETTERS = rf"{_LETTER}(?>(?:{_LETTER}|[{_MARKS}])*)"
_TOKEN = re.compile(
    rf"(?P<number>\d+(?>(?:[.,:/]\d+)*))|(?P<unspaced>[{_UNSPACED}]+)"
    rf"|(?P<word>{_LETTERS}(?>(?:['’](?!\d){_LETTERS})*))"
)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are as at be because been before
    being below between both but by can could did do does doing down during each either else ever
    few for from further had has have having he her here hers herself him himself his how i if in
    into is it its itself just like may me might more most much must my myself nor of off on
    once only or other our ours ourselves out over own per same shall she should since so some such
    than that the their theirs them themselves then there these they this those though through to
    too under until up upon us very was we were what when where whether which while who whom whose
    why will with within would you your yours yourself yourselves they're we're you're i'm i've
    we've they've""".split()  # noqa: SIM905 (a list would take a line for each word)
)

_STEM = 5  # letters of a word that are compared: "towers" meets "towering"
_LEAST = 3  # letters of a word that is compared whole


class Token(NamedTuple):
    """A content token: its range in the text and the form by which it is compared."""

    start: int
    end: int
    form: str


def content_tokens(text: str) -> list[Token]:
    """Return the content tokens of `text`, in order; forms are case-folded and NFKC-normalised."""
    return [token for token in words(text) if token.form not in STOP_WORDS]


def forms_of(text: str) -> set[str]:
    """Return the forms of the text's content words."""
    return {token.form for token in content_tokens(text)}


def stem(form: str) -> str:
    """Return the form by which a content word is compared: its beginning, or the whole of a number.

    A plural's s is no part of it: "years" meets "year".
    """
    return form if form[0].isdigit() or len(form) <= _LEAST else form.removesuffix("s")[:_STEM]


def stems_of(text: str) -> list[str]:
    """Return the stems of the text's content words, in order."""
    return [stem(token.form) for token in content_tokens(text)]


def words(text: str) -> Iterator[Token]:
    """Yield all tokens of `text`, stop words too, in order."""
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        if match.lastgroup == "unspaced":
            for left in range(start, max(start + 1, end - 1)):
                right = min(left + 2, end)
                yield Token(left, right, _fold(text[left:right]))
        else:
            yield Token(start, end, _form(match.group()))


def _form(word: str) -> str:
    folded = _fold(word).replace("’", "'")
    if _THOUSANDS.fullmatch(folded):
        return folded.replace(",", "")
    return folded.removesuffix("'s")


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
