"""The language of a text, named only where it is sure.

A script other than Latin decides by itself. Of a Latin text, only sentences have a language: names,
numbers, code and short answers have none. English function words say English at once; what has none
is read by py3langid's model, which takes half a second and 80 MB and is loaded when first needed.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_READ = 1_000  # characters of a text
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_LEAST_LETTERS = 20
_LEAST_LOWER = 3  # words that begin small: names do not
_SURE = 0.7  # probability
_ENGLISH = frozenset(
    """and been by from has have its not that the their there these they this those were which with
    would""".split()  # noqa: SIM905 (a list would take a line for each word)
)
_ENGLISH_SHARE = 10  # one in so many words
# The model's classes for what is none, and those that English with foreign names is taken for.
_NO_LANGUAGE = frozenset({"zxx", "la", "pcm"})


def find_language(text: str, given: Iterable[str] = ()) -> str | None:
    """Return the text's language as an ISO 639 code, or None where it is not sure.

    A short text in a script of several languages gives the script's name instead, as in "cyrillic".

    Args:
        text: what is read, its first 1,000 characters.
        given: texts; a Latin text that takes half of its words or more from them is theirs, and
            has none itself.
    """
    text = unicodedata.normalize("NFKC", text[:_READ])
    words = [word for word in _WORD.findall(text) if len(word) > 1]  # not the alpha of a formula
    letters = sum(map(len, words))
    script = _other_script(words, letters)
    if script is not None:
        return _ask(text) or script
    if letters < _LEAST_LETTERS or sum(word[0].islower() for word in words) < _LEAST_LOWER:
        return None
    if sum(word.lower() in _ENGLISH for word in words) * _ENGLISH_SHARE >= len(words):
        return "en"
    known = {word.casefold() for each in given for word in _WORD.findall(each)}
    if 2 * sum(word.casefold() in known for word in words) >= len(words):
        return None
    return _ask(" ".join(words))


def language_of_document(text: str) -> str | None:
    """Return `find_language` of a text that is mostly read again with the next answer."""
    return _read_once(text[:_READ])


_read_once = lru_cache(maxsize=256)(find_language)


def _other_script(words: Sequence[str], letters: int) -> str | None:
    """Return the script, other than Latin, that at least half of the letters are of."""
    others = [c for word in words if not word.isascii() for c in word if not c.isascii()]
    scripts = Counter(unicodedata.name(letter, "?").split()[0] for letter in others)
    del scripts["LATIN"]
    if 2 * scripts.total() < max(3, letters):
        return None
    script = max(scripts, key=scripts.__getitem__)
    return "zh" if script == "CJK" else script.lower()


def _ask(text: str) -> str | None:
    code, probability = _model().classify(text)
    return code if probability >= _SURE and code not in _NO_LANGUAGE else None


@cache
def _model() -> LanguageIdentifier:
    # Imported where used: most texts need no model.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
