"""Read what a text hides from a filter.

That is: characters that are not shown, look-alikes of letters, digits in their place, base64.
"""

import re
import unicodedata
from base64 import b64decode
from functools import lru_cache

_TAGS = 0xE0000  # Unicode's tag characters repeat ASCII from here on, and are not shown
_WORD = re.compile(r"\w+")
_ENCODED = re.compile(
    r"(?<![A-Za-z0-9+/=])(?:[A-Za-z0-9+/]{4}){4,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
)
_DIGIT_WORD = re.compile(
    r"(?<![\w@$])(?=[@$\w]*[A-Za-z])(?=[@$\w]*[0134578@$])[A-Za-z0134578@$]{2,}"
)
_LEET = str.maketrans("0134578@$", "oieastbas")
_LEET_WORDS = 3  # in a text, from which they are taken for a disguise; one may be a name
_READABLE = 0.9  # share of the characters that a decoded text shows


def undisguise(text: str) -> str:
    """Return the text as a reader or a model takes it; the text itself where nothing is hidden."""
    shown = text
    if not text.isascii():
        shown = unicodedata.normalize("NFKC", "".join(map(_show, text)))
        shown = _WORD.sub(lambda word: _in_latin(word.group()), shown)
    shown = _ENCODED.sub(lambda code: _decode(code.group()), shown)
    if len(_DIGIT_WORD.findall(shown)) >= _LEET_WORDS:
        shown = _DIGIT_WORD.sub(lambda word: word.group().translate(_LEET), shown)
    return shown


def _show(character: str) -> str:
    """Return a hidden character as what it stands for: a tag as its letter, others as nothing."""
    if " " <= (letter := chr(max(0, ord(character) - _TAGS))) <= "~":
        return letter
    return "" if unicodedata.category(character) == "Cf" else character


@lru_cache(maxsize=4_096)
def _in_latin(word: str) -> str:
    """Write a word of mixed scripts in Latin letters; one of a single script stays as it is."""
    if word.isascii():
        return word
    from confusable_homoglyphs import categories, confusables

    scripts = categories.unique_aliases(word) - {"COMMON", "INHERITED"}
    if len(scripts) < 2 or "LATIN" not in scripts:
        return word
    found = confusables.is_confusable(word, greedy=True, preferred_aliases=["latin"]) or ()
    alike = {
        one["character"]: next((h["c"] for h in one["homoglyphs"] if h["c"].isascii()), None)
        for one in found
    }
    return "".join(alike.get(character) or character for character in word)


def _decode(code: str) -> str:
    """Return the text that base64 holds; the code itself where that is no text."""
    try:
        text = b64decode(code, validate=True).decode("utf-8")
    except ValueError:
        return code
    readable = sum(character.isprintable() or character.isspace() for character in text)
    return text if readable >= _READABLE * len(text) else code
