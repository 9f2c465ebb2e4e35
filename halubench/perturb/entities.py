"""Names: another name of the same rough type, taken from the same context.

There is no list of names; a type is inferred from the words in and around a name, and a name of
no clear type is left alone.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from random import Random
from typing import NamedTuple

from .source import MONTHS, WEEKDAYS, Source, canonical, read
from .types import Draft, Edit
from .words import any_of, listed

_CAPITAL = r"(?:(?:St\.\ )?[A-ZÀ-Þ][\wÀ-ÿ]*(?:['’-][A-ZÀ-Þa-z]\w+)*|(?<=\s)[A-Z]\.(?=\s[A-Z]))"
_NAME = re.compile(
    rf"(?<![\w'’@/.-]){_CAPITAL}"
    rf"(?:[ ](?:(?:of|de|van|von|der|del|la|bin|al|of[ ]the)[ ])?{_CAPITAL}){{0,5}}(?![\w@/]|-\w)"
)
_POSSESSIVE = re.compile(r"['’]s?$")
NO_NAMES = listed("no names") | {name.lower() for name in (*MONTHS, *WEEKDAYS)}

_DIRECTIONS = frozenset({"north", "south", "east", "west"})

_TITLE = re.compile(rf"\b(?:{any_of('before a person')})\.?,?\s$")
_TITLE_WORD = re.compile(rf"(?:{any_of('titles')})\.?\s")
_SPEAKS = re.compile(rf",?\s(?:{any_of('after a person')})\b")
_ORGANISATION = re.compile(rf"\b(?:{any_of('organisations')})\b")
_PLACE = re.compile(rf"(?:^|\b(?=\w+$))(?:{any_of('places')})\b")
_AT_PLACE = re.compile(rf"\b(?:{any_of('before a place')})\s(?:the\s)?$")
# A name that stands for itself: no noun follows that it would describe.
STANDS_ALONE = re.compile(rf"\s?(?:$|[.,;)]|\s(?:{any_of('after a whole name')})\b)")
_INSIDE = re.compile(r",\s[A-Z]")  # a town of a country
_CONTINENT = re.compile(r"\b(?:Africa|America|Asia|Europe)\b")  # that contain others
_NO_PLACE = re.compile(r"(?:tion|ment|ical|uring|ness|virus|ogy|sis|idae)$")
_ROMAN = re.compile(r"[IVX]+")
_DEMONYM = re.compile(
    r"(?!Bayes|Gauss|Mendel|Caucas|Euclid)[A-Z][a-z]+(?:ese|ish|ian|ean|can|eli|aqi|eni|udi|tani|ench|utch)"
    r"|German|Latin|Greek|Arabic|Thai"
)
_EXPANDED = re.compile(r"(?P<head>[A-Za-z]{3,})\s\((?P<name>[A-Z]{2,8})\)")
_JOINED = re.compile(r"\b([A-Z]{2,8}) (?:and|or|than|versus|vs\.?) ([A-Z]{2,8})\b(?!-)")
_EVENT = re.compile(rf"\b(?:{any_of('events')})\b")
_PLAIN = re.compile(r"[A-ZÀ-Þ][a-zß-ÿ’'.-]+(?:\s(?:of|de|del|la|the|[A-ZÀ-Þ][a-zß-ÿ’'.-]+))*")
_LOWER_PART = re.compile(r"-[a-zß-ÿ]")  # Tris-buffered
_LOWER_NEXT = re.compile(r"\s[a-z]")
_QUOTED_BEFORE, _QUOTED_AFTER = re.compile(r"[\"“]$"), re.compile(r"[\"”,.]")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n\"“•*-])\s*(?:\d+[.)]\s*)?[\"“(*]*$")


_LONG = 50  # sentences; a place that matters is named more than once in them
TYPES = frozenset({"acronym", "title", "organisation", "person", "demonym", "event", "place"})


class Name(NamedTuple):
    """A name at its place in a text; its type is empty where it is not known."""

    start: int
    end: int
    text: str
    type: str


def names(text: str, lower_words: frozenset[str]) -> Iterator[Name]:
    """Find names; `lower_words` are words known not to be names by themselves."""
    for match in _NAME.finditer(text):
        start, end = match.span()
        before = text[max(0, start - 24) : start]
        if _SENTENCE_START.search(before):
            start = _past_common_words(text, start, end, lower_words)
        if title := _TITLE_WORD.match(text, start, end):
            before, start = text[start : title.end()], title.end()
        end -= len(found.group()) if (found := _POSSESSIVE.search(text[start:end])) else 0
        name = text[start:end]
        if len(name) < 3 or name.lower() in NO_NAMES or name.split()[0].lower() in NO_NAMES:
            continue
        if not (name.isupper() and (" " in name or len(name) > 6)):  # a heading
            yield Name(start, end, name, _type(name, before, text[end : end + 24]))


def _past_common_words(text: str, start: int, end: int, lower_words: frozenset[str]) -> int:
    """Return where a name begins after words that only the start of the sentence capitalises."""
    while start < end:
        word = re.match(r"[\w'’-]+\.?\s?", text[start:end])
        bare = word.group().strip(" .").lower() if word else ""
        if bare in _DIRECTIONS and start + len(bare) < end:
            break
        if word is None or not (bare in NO_NAMES or bare in lower_words):
            break
        start += word.end()
    return start


def _type(name: str, before: str, after: str) -> str:
    single = " " not in name
    if _LOWER_PART.search(name):
        return ""
    if name.isupper():
        return "acronym" if name.isalpha() and not _ROMAN.fullmatch(name) else ""
    if _QUOTED_BEFORE.search(before) and _QUOTED_AFTER.match(after):
        return "title"
    if _ORGANISATION.search(name):
        return "organisation"
    if _TITLE.search(before) or (_SPEAKS.match(after) and not before.endswith(("the ", "The "))):
        return "person"
    if single and _DEMONYM.fullmatch(name):
        return "demonym" if _LOWER_NEXT.match(after) else ""
    if _EVENT.search(name):
        return "event"
    if not _PLAIN.fullmatch(name):
        return ""
    if _PLACE.search(name) or (_AT_PLACE.search(before) and not _NO_PLACE.search(name)):
        return "place"
    return ""


@lru_cache(maxsize=64)
def _types(source: Source) -> Mapping[str, str]:
    """Return for each name of the context the type that most of its places suggest."""
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for document in source.documents:
        for name in names(document, source.lower_words):
            votes[name.text][name.type] += 1
    least = 2 if len(source.sentences) >= _LONG else 1
    types = {}
    for text, counts in votes.items():
        if text.lower() in source.lower_words:
            continue
        if _PLACE.search(text) is None and counts["place"] < max(least, counts.total() / 3):
            del counts["place"]  # "in" leads in to more than places
        told = [(count, kind) for kind, count in counts.items() if kind]
        types[text] = max(told)[1] if told else ""
    return types


def names_of_type(kind: str, source: Source) -> list[str]:
    """Return the names of the context that are of one type."""
    return [name for name, told in _types(source).items() if told == kind]


def typed_names(text: str, source: Source) -> Iterator[Name]:
    """Find the names of a text, typed by what the context says of them, else by the text."""
    types = _types(source)
    for name in names(text, source.lower_words | read((text,)).lower_words):
        told = types.get(name.text) or name.type or _by_part(name.text, types)
        yield name._replace(type=told)


def entities(text: str, source: Source, rng: Random) -> Iterator[Draft]:
    """Yield drafts that replace a name by another of the same type from the context."""
    for name in typed_names(text, source):
        alone = STANDS_ALONE.match(text, name.end) and not _INSIDE.match(text, name.end)
        if not name.type or (name.type == "place" and not alone):
            continue
        others = [
            other
            for other in names_of_type(name.type, source)
            if comparable(name.text, other)
            and other not in text
            and (name.type != "acronym" or _of_one_sort(name.text, other, source))
            and (name.type != "place" or _side_by_side(name.text, other, source))
        ]
        for other in rng.sample(others, min(3, len(others))):
            yield Draft("entity", (Edit(name.start, name.end, other),))


def _of_one_sort(old: str, new: str, source: Source) -> bool:
    """Return whether two acronyms are of one sort: viruses, or two joined by "or"."""
    heads, joined = _acronyms(source)
    return (old in heads and heads[old] == heads.get(new)) or {old, new} in joined


def _side_by_side(old: str, new: str, source: Source) -> bool:
    """Return whether the context names two places in a row; else one may be in the other."""
    joint = r"(?:,?\s(?:and|or|than|to|from)\s|,\s)(?:[^,.;]{1,40},?\s(?:and|or)\s)?(?:in\s|the\s)*"
    one, other = re.escape(old), re.escape(new)
    pair = re.compile(rf"\b(?:{one}{joint}{other}|{other}{joint}{one})\b")
    return any(pair.search(document) for document in source.documents)


@lru_cache(maxsize=64)
def _acronyms(source: Source) -> tuple[Mapping[str, str], Collection[frozenset[str]]]:
    """Return what the context says its acronyms are, and which two it names side by side."""
    heads: dict[str, str] = {}
    joined = set()
    for document in source.documents:
        for match in _EXPANDED.finditer(document):
            if match["head"][0].lower() == match["name"][-1].lower():
                heads.setdefault(match["name"], canonical(match["head"].lower()))
        joined |= {frozenset(match.groups()) for match in _JOINED.finditer(document)}
    return heads, joined


def _by_part(name: str, types: Mapping[str, str]) -> str:
    """Type a surname or short form by the full name that holds it."""
    return next((kind for full, kind in types.items() if kind and name in full.split()), "")


def comparable(old: str, new: str) -> bool:
    """Return whether two names are of one form, and not forms of one name."""
    olds, news = set(old.lower().split()), set(new.lower().split())
    initials = "".join(word[0] for word in old.split()), "".join(word[0] for word in new.split())
    return (
        not olds & news
        and old.lower() not in new.lower()
        and new.lower() not in old.lower()
        and old != initials[1]
        and new != initials[0]
        and (len(olds) == 1) == (len(news) == 1)
        and len(news) <= len(olds) + 2
        and bool(_CONTINENT.search(old)) == bool(_CONTINENT.search(new))
    )
