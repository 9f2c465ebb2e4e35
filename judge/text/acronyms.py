"""Names in short and in full: "WHO" is "World Health Organization". English, made to miss."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .tokens import STOP_WORDS

# Two capitals at least, and small letters between them: MoI, NASA, U.S.
_SHORT = re.compile(r"(?<![\w.-])(?:(?:[A-Z]\.){2,6}|[A-Z](?:[a-z]?[A-Z]){1,6})(?![\w-])")
_WORD = re.compile(r"[^\W\d_][\w'’]*")
_SMALL = frozenset(
    "a an and at by de des di du for in of on or the to und van von y".split()  # noqa: SIM905 (a list would take a line for each word)
)
_BETWEEN = re.compile(r"[\s-]+(?:&\s+)?")  # words of one name
_TWO = 2  # letters that stand for words with capitals alone


class Name(NamedTuple):
    """A name at [start, end) of a text, in short or in full."""

    start: int
    end: int


def find_short(text: str) -> Iterator[Name]:
    """Yield the acronyms of a text, in order."""
    for match in _SHORT.finditer(text):
        yield Name(*match.span())


def find_full(text: str, short: str) -> Iterator[Name]:
    """Yield what an acronym may stand for in a text: words that begin with its letters.

    Small words ("of", "the") may have a letter or none. Words without capitals are three at least,
    and none of them small.
    """
    letters = short.replace(".", "").lower()
    found = list(_WORD.finditer(text))
    for place, first in enumerate(found):
        if first[0].lower() in _SMALL:
            continue
        words = [first]
        for word in found[place + 1 : place + 2 * len(letters)]:
            if not _BETWEEN.fullmatch(text, words[-1].end(), word.start()):
                break
            words.append(word)
        count = _matches([word[0] for word in words], letters)
        if count and _is_name([word[0] for word in words[:count]], short):
            yield Name(first.start(), words[count - 1].end())


def _is_name(words: Sequence[str], short: str) -> bool:
    """Return whether words with the right letters are a name, not chance, as in "we had one"."""
    large = [word for word in words if word.lower() not in _SMALL]
    capitals = all(word[0].isupper() for word in large)
    return (
        short not in words
        and STOP_WORDS.isdisjoint(map(str.lower, large))
        and (capitals or (len(words) > _TWO and len(large) == len(words)))
    )


def _matches(words: Sequence[str], letters: str) -> int:
    """Return how many words the letters take, 0 where they are not theirs."""
    taken = 0
    for place, word in enumerate(words):
        small = word.lower() in _SMALL
        skipped = small and _go_on(words[place:], letters[taken:])
        if word[0].lower() == letters[taken] and not skipped:
            taken += 1
        elif not small:
            return 0
        if taken == len(letters):
            return 0 if small else place + 1
    return 0


def _go_on(words: Sequence[str], letters: str) -> bool:
    """Return whether the letters are those of the words that are not small."""
    rest = (word[0].lower() for word in words if word.lower() not in _SMALL)
    return "".join(rest).startswith(letters)
