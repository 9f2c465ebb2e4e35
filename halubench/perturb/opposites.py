"""Words of order and of quantity: comparatives and other opposites, quantifiers."""

import re
from collections.abc import Iterator
from random import Random

from moonlynx.judge.text import content_tokens

from .source import Source
from .types import Draft, Edit
from .words import WORDS, any_of, listed

# The other way round a word has other uses: a protein complex, a common cold, lost to follow-up.
_OPPOSITES: dict[str, str] = dict(WORDS["one way"])
for _pair in WORDS["pairs"]:
    _one, _other = _pair.split()
    _OPPOSITES.setdefault(_one, _other)
    _OPPOSITES.setdefault(_other, _one)
_WORDS = "|".join(sorted(_OPPOSITES, key=len, reverse=True))
_GENDERED = listed("gendered")
_PRONOUN = re.compile(
    r"\b(?:he|his|him|she|her|wife|wives|husbands?|mothers?|fathers?|pregnan\w+|prostat\w+)\b",
    re.IGNORECASE,
)
# Where the word is another one: in common, secondary to, the public in waiting rooms.
_OTHER_USE = (
    r"(?:(?<=in )|(?<=\ba )|(?<=\bthe ))common|(?<=\ba )(?:un)?likely to"
    r"|(?:accepted|approved|rejected)(?!\s(?:by|in|as|for|to|the|an?|that|at|on|with)\b|[.,;]|$)"
    r"|(?:before|after)(?!\s(?:(?:the|an?|its|their|his|her|noon)\b|\d|(?-i:[A-Z])))"
    r"|public(?=\s(?:in|and|about|to|of|at|on|with|for|who|that|is|was)\b|[.,;]|$)"
)
_OPPOSITE = re.compile(rf"(?<![\w-])(?!{_OTHER_USE})(?:{_WORDS})(?![\w'’])", re.IGNORECASE)
_JOINED_BEFORE = re.compile(r"\b(?P<word>[\w-]+)\s(?P<joint>and/or|and|or|versus|vs\.?)\s$")
_JOINED_AFTER = re.compile(r"\s(?P<joint>and/or|and|or|versus|vs\.?)\s(?P<word>[\w-]+)")
_DEGREE = f"(?:{any_of('degrees')})"
_RANGE = (
    re.compile(rf"\b{_DEGREE}(?:\sto\s|/)$", re.I),
    re.compile(rf"(?:\sto\s|/){_DEGREE}\b", re.I),
)
_NOUN_BEHIND = re.compile(r"\s(?P<noun>[a-z][\w-]+)")
_GRADED = re.compile(r"(?:er|est|ed|es|ing)$|\s|^(?:before|after|above|below|inside|outside)$")
# What is aimed at is no worse way: "to find better ways".
_AIM = re.compile(r"\b(?:to|help\w*|should)\s(?:[\w-]+\s){1,4}$", re.IGNORECASE)
_AIMED_AT = frozenset({"better", "best"})
_SET_PHRASE = re.compile(rf"(?:\b(?:{any_of('before a set phrase')})\s|day\s)$", re.IGNORECASE)
_SET_PHRASE_AFTER = re.compile(
    rf"(?:\s?-|\s(?:{any_of('after a set phrase')})|\s*,)", re.IGNORECASE
)
_MORE = re.compile(
    r"(?<![\w-])(?P<word>more|less|fewer)(?=\s+(?P<next>[\w$€£]+))(?!\s+or\b|\s+and\b)", re.I
)
_MORE_LEAD = re.compile(
    r"\b(?:once|any|no|some|and|or|much|many|even|learn|for|what's|the)\s+$", re.IGNORECASE
)
_MOST = re.compile(r"\b(?P<the>the)\s+(?P<word>most|least)(?=\s+[a-z]+)(?!\s+of\b)", re.IGNORECASE)
_FIRST = re.compile(
    r"\b(?P<lead>the|his|her|its|their|whose)\s+(?P<word>first|last)(?=\s+[a-z])"
    r"(?!\s+(?:place|step|time|name|few|two|three|day|week|month|year|decade|century|thing)s?\b)",
    re.IGNORECASE,
)
_OTHER_END = {"most": "least", "least": "most", "first": "last", "last": "first"}


def comparatives(text: str, source: Source, rng: Random) -> Iterator[Draft]:  # noqa: ARG001
    """Yield drafts that replace words of comparison and order by their opposites."""
    for match in _MORE.finditer(text):
        if not _MORE_LEAD.search(text[: match.start()]):
            word = "more" if match["word"].lower() != "more" else _less(match["next"])
            yield _comparative(match, "word", word)
    for form in (_MOST, _FIRST):
        for match in form.finditer(text):
            yield _comparative(match, "word", _OTHER_END[match["word"].lower()])
    for match in _OPPOSITE.finditer(text):
        if _is_name_part(text, match):
            continue
        if _SET_PHRASE.search(text[max(0, match.start() - 24) : match.start()]):
            continue
        if not (
            _SET_PHRASE_AFTER.match(text, match.end())
            or _is_coordinate(text, match)
            or _is_bound(text, match)
            or _is_no_distinction(text, match, source)
            or (match.group().lower() in _GENDERED and _PRONOUN.search(text))
        ):
            yield _comparative(match, 0, _OPPOSITES[match.group().lower()])


def _less(following: str) -> str:
    counted = following.endswith("s") and not following.endswith(("ss", "us", "ous", "is"))
    return "fewer" if counted else "less"


def _is_name_part(text: str, match: re.Match[str]) -> bool:
    """Return whether the word is capitalised within a sentence, or part of a name."""
    named = re.match(r"\s[A-Z]", text[match.end() :])
    return match.group()[0].isupper() and bool(named or text[: match.start()].strip())


def _is_coordinate(text: str, match: re.Match[str]) -> bool:
    """Return whether the word is coordinated with another: "upper or lower", "reduce or stop"."""
    before = _JOINED_BEFORE.search(text[max(0, match.start() - 30) : match.start()])
    after = _JOINED_AFTER.match(text, match.end())
    return any(
        joint and (joint["word"].lower() in _OPPOSITES or joint["joint"] != "and")
        for joint in (before, after)
    )


def _is_no_distinction(text: str, match: re.Match[str], source: Source) -> bool:
    """Return whether the word may be part of a term: "low signal" where nothing is called high.

    So may every adjective before its noun be, except for comparatives and participles.
    """
    word, behind = match.group().lower(), _NOUN_BEHIND.match(text, match.end())
    if behind is None or _GRADED.search(word) or not content_tokens(behind["noun"]):
        return False
    return _OPPOSITES[word] not in source.lower_words


def _is_bound(text: str, match: re.Match[str]) -> bool:
    """Return whether the word is the end of a range, or a target."""
    before = text[max(0, match.start() - 60) : match.start()]
    if _RANGE[0].search(before) or _RANGE[1].match(text, match.end()):
        return True
    return match.group().lower() in _AIMED_AT and bool(_AIM.search(before))


def _comparative(match: re.Match[str], group: int | str, new: str) -> Draft:
    """Replace a group of the match, in the old word's capitals."""
    written = _capitalised_like(match.group(group), new)
    return Draft("comparative", (Edit(*match.span(group), written),))


def _capitalised_like(old: str, new: str) -> str:
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


_PLURAL = "(?:[a-z]+s|people|men|women|children)\\b"
# Words behind which "often" belongs to an adjective and not to what happens.
_BEFORE_ADJECTIVE = (
    *("most", "more", "less", "very", "as", "so"),
    *("despite", "of", "in", "with", "by", "for", "the", "a", "other"),
)
_NO_DEGREE = "".join(rf"(?<!\b{word} )" for word in _BEFORE_ADJECTIVE)
# "For no patients" inverts the rest of the sentence.
_FRONTED = re.compile(r"(?:^|[.!?,;]\s)(?:For|In|Among|With|On|At|To|By|From|Of)\s$")
_NEGATED = re.compile(r"(?:no|none|neither|never|rarely|few)\b")
# "No" and similar words deny a clause from its start; within one they read oddly.
_DENIES_CLAUSE = re.compile(r"(?:no|none|neither)\b")
_CLAUSE_START = re.compile(
    r"(?:^|[.!?;:,]\s|\b(?:that|and|but|with|because|while|whereas|although|if|as|was|were|are)\s)$"
)
_NOT_SET = "(?<!of )(?<!at )(?<!after )"  # of all, at all, after all


def _pattern(form: str) -> re.Pattern[str]:
    for name, written in (("PLURAL", _PLURAL), ("NOT_SET", _NOT_SET), ("NO_DEGREE", _NO_DEGREE)):
        form = form.replace(name, written)
    return re.compile(form, re.IGNORECASE)


_COMPILED = [(_pattern(form), tuple(news)) for form, news in WORDS["quantifiers"].items()]


def quantifiers(text: str, source: Source, rng: Random) -> Iterator[Draft]:  # noqa: ARG001
    """Yield drafts with another quantifier for all, some, none, both, at least or always."""
    for form, news in _COMPILED:
        for match in form.finditer(text):
            before = text[max(0, match.start() - 24) : match.start()]
            fitting = [new for new in news if _fits(before, new)]
            if not fitting:
                continue
            new = match.expand(rng.choice(fitting))
            old = match.group()
            end = match.end()
            if old.endswith(" "):  # the space is no part of the change
                end, new = end - 1, new.rstrip()
            yield Draft("quantifier", (Edit(match.start(), end, _capitalised_like(old, new)),))


def _fits(before: str, new: str) -> bool:
    """Return whether a quantity can follow these words, as seen by what it denies."""
    if _FRONTED.search(before) and _NEGATED.match(new):
        return False
    return _DENIES_CLAUSE.match(new) is None or _CLAUSE_START.search(before) is not None
