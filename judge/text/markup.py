"""Markup of an answer: what is written around its claims, and what it cites.

Nothing is cut: blanks take the place of markup, so that offsets index the answer. What may be
content stays: brackets within a sentence, asterisks between numbers, superscripts of units.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from .sentences import SHORT

_KIND = r"(?:documents?|docs?|passages?|sources?|contexts?|excerpts?|articles?|references?|refs?)"
_NUMBERS = r"\d{1,3}(?: ?(?:[,;&–-]|and) ?\d{1,3})*"
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_DIGITS = str.maketrans(_SUPERSCRIPTS, "0123456789")
_FROM = r"(?:based (?:only |solely )?(?:up)?on|according to|as stated in|from|in)"
_DOCUMENTS = (
    r"(?:(?:the|this|these|your) )?(?:(?:given|provided|available|retrieved|above) )?"
    r"(?:context|passages?|documents?|texts?|sources?|excerpts?|articles?|information)"
    r"(?: (?:provided|given|above))?"
)


def _compile(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE | re.MULTILINE) for pattern in patterns)


_FOR_ALL, *_MARKS = _compile(
    r"^[ \t]*[*_]*(?:sources?|references|citations)[*_]*:[*_]*[ \t]+(?P<cited>\S[^\n]*)$",
    rf" ?[\[【]\^?(?P<cited>(?:{_KIND}\.? ?#?)?{_NUMBERS})(?:†[^\]】\n]*)?[\]】]"
    r"(?:\([^()\s]*\))?",
    rf" ?\((?:see )?(?P<cited>{_KIND}\.? ?#?{_NUMBERS})\)",
    r" ?\((?P<cited>\[[^\[\]\n]*\]\([^()\s]*\))\)",
    r" ?[\[(]sources?: (?P<cited>[^\[\]()\n]{2,80})[\])]",
    rf"(?:(?<=[.!?,;:”\")\]])|(?<=[a-z]{{4}}))(?P<cited>[{_SUPERSCRIPTS}]{{1,3}})(?!\w)",
    rf"^[ \t]*(?:[-*•] )?{_FROM} (?P<cited>{_KIND} {_NUMBERS}) ?[,:]",
    r"(?<=\w) \[(?P<cited>(?-i:[A-Z])[^\[\]\n]{1,60})\](?=[.!?]?(?:\s|$))",
)
# The line that says what a footnote stands for.
(_NOTE,) = _compile(
    rf"^[ \t]*(?P<mark>\[\^?\d{{1,3}}\]|[{_SUPERSCRIPTS}]{{1,3}}):?[ \t]*"
    r"(?P<cited>\S[^\n]{0,120})$"
)
_BARE = _compile(
    r"^[ \t]*(?:```|~~~)[^\n]*$",
    r"^[ \t]*#{1,6}(?=[ \t])|^[ \t]*>+(?=[ \t])|^[ \t]*(?:[-*_][ \t]?){3,}$",
    r"`+|\*{2,3}|~~|(?<!\w)__(?=\S)|(?<=\S)__(?!\w)",
    r"(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?![\w*])|(?<!\w)_(?=\w)|(?<=[\w.!?:,])_(?!\w)",
    r"(?<=\])\([^()\s]*\)",  # where a link leads
    r"</?(?:b|i|u|em|strong|br|p|ul|ol|li|sup|sub|code|h[1-6]) ?/?>",
    rf"^[ \t]*(?:[-*•] )?{_FROM} {_DOCUMENTS} ?[,:]",
    r"^[ \t]*(?:#+ )?[*_]*step \d{1,2}[*_]*(?: ?[:.)]| [–—-](?= ))[*_]*",
)
_NUMBER = re.compile(rf"(?:{_KIND}\.? ?#?)?({_NUMBERS})", re.IGNORECASE)
_SPAN = re.compile(r"(\d+)(?: ?[–-] ?(\d+))?")
_BETWEEN = re.compile(r";|,(?=\s*\[)")
_WRAPPED = " \t*_.[]【】^"
_MOST = 20  # documents of a range: [1-20]


class Mark(NamedTuple):
    """A mark that cites documents."""

    # its range in the answer
    start: int
    end: int
    cited: tuple[str, ...]  # numbers ("2"), names and links, as they are written
    whole: bool  # it is a line of sources, which go for the whole answer


class Markup(NamedTuple):
    """An answer without its markup, and what it cites."""

    text: str  # the answer with blanks in place of markup, of the same length
    marks: tuple[Mark, ...]  # in order and without overlap


def read_markup(answer: str) -> Markup:
    """Find the markup of an answer."""
    return _kept(answer) if len(answer) <= SHORT else _read(answer)


def _read(answer: str) -> Markup:
    notes = dict(_notes(answer))
    text = _NOTE.sub(lambda note: _blank(note) if _key(note) in notes else note.group(), answer)
    marks: list[Mark] = []
    for pattern in (_FOR_ALL, *_MARKS):
        for match in pattern.finditer(text):
            cited = (one for each in _split(match["cited"]) for one in notes.get(each, (each,)))
            start = match.end() - len(match.group().lstrip())
            marks.append(Mark(start, match.end(), tuple(cited), pattern is _FOR_ALL))
        text = pattern.sub(_blank, text)
    for pattern in _BARE:
        text = pattern.sub(_blank, text)
    return Markup(text, tuple(sorted(marks)))


_kept = lru_cache(maxsize=64)(_read)  # a judge and the check of its citations read the same answer


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


def _notes(answer: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what each footnote stands for: a line that begins with a mark used before."""
    for note in _NOTE.finditer(answer):
        cited = note["cited"].strip()
        ends = cited[-1] in ".!?" and "://" not in cited
        if not ends and answer.find(note["mark"].rstrip(":"), 0, note.start()) >= 0:
            yield _key(note), tuple(_split(cited))


def _key(note: re.Match[str]) -> str:
    return note["mark"].strip("[]^").translate(_DIGITS)


def _split(cited: str) -> Iterator[str]:
    """Yield numbers one by one, with those between the ends of a range; names as they are."""
    for part in _BETWEEN.split(cited.translate(_DIGITS)):
        bare = part.strip(_WRAPPED)
        if numbers := _NUMBER.fullmatch(bare):
            for first, last in _SPAN.findall(numbers[1]):
                after = min(int(last or first), int(first) + _MOST) + 1
                yield from map(str, range(int(first), after))
        elif bare:
            yield part.strip()
