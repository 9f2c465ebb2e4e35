"""Sentences that claim nothing: refusals, small talk, questions to the user, offers of help.

Rules of thumb in English (greetings and thanks in some more languages), made to miss rather than to
excuse. A sentence is read as words and must be a chain of the phrases in `claims.json` from its
first word to its last, so "I'm sorry, but the fee is $30" still makes its claim. No phrase has a
free place: what a document could be about has no room in one, and "the documents do not mention
refunds" is a claim about the documents.
"""

import json
import re
from importlib.resources import files

from .markup import read_markup
from .sentences import body_start

# How phrases are written: a/b is one of two words, (a b) may be left out, [a b | c] is one of two
# word groups, {name} stands for a part.
_WRITTEN = json.loads(files(__package__).joinpath("claims.json").read_text(encoding="utf-8"))
_PARTS: dict[str, str] = _WRITTEN["parts"]
_PHRASES: list[str] = [phrase for phrases in _WRITTEN["phrases"].values() for phrase in phrases]
_NOTATION = re.compile(r"\{([\w ]+)\}|([()\[\]|])|([\w/!]+)")


def _compile(phrase: str) -> str:
    """Turn a phrase into a regular expression over words that each end in one space."""

    def element(match: re.Match[str]) -> str:
        part, mark, word = match.groups()
        if part:
            return f"(?:{_compile(_PARTS[part])})"
        if mark:
            return {"(": "(?:", ")": ")?", "[": "(?:", "]": ")", "|": "|"}[mark]
        return f"(?:{word.replace('/', '|')}) "

    return "".join(element(match) for match in _NOTATION.finditer(phrase))


# The longest first, and each taken for good: a chain is read in one go, with no way back.
_CHAIN = re.compile(
    f"(?>{'|'.join(_compile(phrase) for phrase in sorted(_PHRASES, key=len, reverse=True))})+"
)
_LONGEST = 300  # characters; nothing longer claims nothing
_HEADING = re.compile(r"#{1,6}[ \t]+(.*)|\*\*([^*]*)\*\*:?")
_HEADING_WORDS = 5
_SAYS = frozenset(
    """is are was were be has have had do does did can could will would shall should may might must
    no not never only all""".split()  # noqa: SIM905 (a list would take a line for each word)
)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|!")
_SPELLED_OUT = (
    (re.compile(r"\bcan(?:not|'t)\b"), "can not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"'m\b"), " am"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"'d\b"), " would"),
    (re.compile(r"\b(here|that|there|it)'s\b"), r"\1 is"),
)


def _is_heading(sentence: str) -> bool:
    """Return whether the line is a heading that names its subject, and says nothing of it."""
    heading = _HEADING.fullmatch(sentence)
    words = _WORD.findall((heading[1] or heading[2] or "").lower()) if heading else ()
    return 0 < len(words) <= _HEADING_WORDS and not any(
        word in _SAYS or any(map(str.isdigit, word)) for word in words
    )


def claims_nothing(sentence: str) -> bool:
    """Return whether the sentence holds nothing that a document could support or contradict."""
    if len(sentence) <= _LONGEST and _is_heading(sentence):
        return True
    bare = read_markup(sentence).text[body_start(sentence) :].strip()
    if not any(character.isalnum() for character in bare):
        return True
    if len(bare) > _LONGEST:
        return False
    bare = bare.lower().replace("’", "'")
    for short, long in _SPELLED_OUT:
        bare = short.sub(long, bare)
    words = "".join(f"{word} " for word in _WORD.findall(bare))
    return _CHAIN.fullmatch(words) is not None
