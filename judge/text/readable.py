"""Whether an answer is language: something that a person could have meant, in any script.

A few rules instead of a dictionary, made to let pass rather than to refuse: docs/what-is-scored.md
has them. A word that the question or a document holds is language, whatever it looks like, so a key
or a hash that was asked for is judged.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence, Set
from functools import lru_cache

_INITIALS = r"[A-Z](?:[.&/-][A-Z])+(?![^\W_])|[A-Z][+#]+"  # U.S., R&B, C++
_WORD = re.compile(rf"{_INITIALS}|[^\W_]+")
_LONGEST = 40  # letters and digits of a word
_LONGEST_NUMBER = 24  # digits
_REPEATED = re.compile(r"(.{1,4}?)\1{3,}.{0,3}")  # aaaa, hahahaha
_MANY, _KINDS = 12, 3  # so many words of so few kinds are no sentence
_LATIN = re.compile(r"[a-z]+")
_VOWEL = re.compile(r"[aeiouy]")
# What is written by several letters and spoken as one: "Knightsbridge" is a word.
_ONE_SOUND = re.compile(r"sch|tch|[cgkpst]h|ck|ng")
_CONSONANTS = re.compile(r"[^aeiouy]{6}")
_WITHOUT_VOWEL = 4  # letters of an abbreviation; one more where it begins with a capital
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "ицукенгшщзхъ", "фывапролджэ", "ячсмитьбю")
_KEYS = frozenset(
    row[i : i + 3] for each in _ROWS for row in (each, each[::-1]) for i in range(len(row) - 2)
)
# An encoded value changes between capitals, letters and digits all the time; codes and names do
# not.
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ENCODED, _SHORT_HUMP = 14, 2.5  # least length, characters to a hump


def is_language(answer: str, given: Iterable[str]) -> bool:
    """Return whether the answer has words, and at least half of them are language."""
    words = [word[: _LONGEST + 1] for word in _WORD.findall(answer)]
    kinds = set(words)
    if len(words) >= _MANY and len(kinds) <= _KINDS and not all(map(str.isdecimal, kinds)):
        return False
    strange = {word for word in kinds if not _is_word(word)}
    if _at_least_half(words, strange):
        return True
    known = {word.casefold() for text in given for word in _WORD.findall(text)}
    return _at_least_half(words, {word for word in strange if word.casefold() not in known})


def _at_least_half(words: Sequence[str], strange: Set[str]) -> bool:
    """Compare the words with the strange ones; a single letter counts neither for nor against."""
    odd = [word for word in words if word in strange]
    return 0 < len(words) - len(odd) >= sum(len(word) > 1 for word in odd)


@lru_cache(maxsize=1 << 14)
def _is_word(word: str) -> bool:
    if not word.isascii() and any(c.isalpha() and c.lower() == c.upper() for c in word):
        return not _REPEATED.fullmatch(word)  # a script without capitals, and often without spaces
    if len(word) > _LONGEST:
        return False
    if not word.isalpha():
        return not word.isalnum() or _is_code(word)
    return len(word) > 1 and not _REPEATED.fullmatch(word.lower()) and _is_spoken(word)


def _is_code(word: str) -> bool:
    if word.isdecimal():
        return len(word) <= _LONGEST_NUMBER
    return len(word) < _ENCODED or len(word) >= _SHORT_HUMP * len(_HUMP.findall(word))


def _is_spoken(word: str) -> bool:
    """Return whether the letters can be spoken; vowels are known for Latin ones only."""
    letters = "".join(c for c in unicodedata.normalize("NFD", word.lower()) if c.isalpha())
    runs = [i for i in range(len(letters) - 2) if letters[i : i + 3] in _KEYS]
    typed = {i + offset for i in runs for offset in range(3)}
    has_vowel = _VOWEL.search(letters) is not None or not _LATIN.fullmatch(letters)
    if len(typed) == len(letters) and (len(letters) > 3 or not has_vowel):
        return False
    if not has_vowel:
        return len(letters) <= _WITHOUT_VOWEL + word[0].isupper()
    return not (_LATIN.fullmatch(letters) and _CONSONANTS.search(_ONE_SOUND.sub("c", letters)))
