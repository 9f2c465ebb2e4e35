"""Words of order and of quantity: comparatives and other opposites, quantifiers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from random import Random

from moonlynx.judge.text import content_tokens

from .source import Source
from .types import Draft, Edit, Kind

_LISTS = json.loads(files(__package__).joinpath("opposites.json").read_text(encoding="utf-8"))
# The other way round a word has other uses: a protein complex, a common cold, lost to follow-up.
_OPPOSITES: dict[str, str] = dict(_LISTS["one way"])
for _pair in _LISTS["pairs"]:
    _one, _other = _pair.split()
    _OPPOSITES.setdefault(_one, _other)
    _OPPOSITES.setdefault(_other, _one)
_WORDS = "|".join(sorted(_OPPOSITES, key=len, reverse=True))
# Words for people, whose opposite a pronoun elsewhere in the text would give away.
_GENDERED = frozenset(
    """man woman men women male female husband wife father mother son daughter sons daughters
    brother sister brothers sisters""".split()  # noqa: SIM905
)
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
# The ends of a range: "moderate to severe".
_DEGREE = (
    r"(?:mild|moderate|severe|low|medium|intermediate|high|early|late|small|large|short|long|weak"
    r"|strong|young|old|advanced|poor|good)"
)
_RANGE = (
    re.compile(rf"\b{_DEGREE}(?:\sto\s|/)$", re.I),
    re.compile(rf"(?:\sto\s|/){_DEGREE}\b", re.I),
)
_NOUN_BEHIND = re.compile(r"\s(?P<noun>[a-z][\w-]+)")
_GRADED = re.compile(r"(?:er|est|ed|es|ing)$|\s|^(?:before|after|above|below|inside|outside)$")
# What is aimed at is no worse way: "to find better ways".
_AIM = re.compile(r"\b(?:to|help\w*|should)\s(?:[\w-]+\s){1,4}$", re.IGNORECASE)
_AIMED_AT = frozenset({"better", "best"})
# Set phrases in which the word does not order anything.
_SET_PHRASE = re.compile(
    r"(?:\b(?:no|any|named|look(?:ed|ing|s)?|shortly|soon|mentioned|described|given|listed|all|at"
    r"|right|your|more|most|less|least|see|pregnant|\w*menopausal|the (?:information|text|passages?"
    r"|context))\s|day\s)$",
    re.IGNORECASE,
)
_SET_PHRASE_AFTER = re.compile(
    r"(?:\s?-|\s(?:a while|school|court|all\b|on\b|behind|of course|out\b|up\b|carolina|dakota"
    r"|korea|africa|america|sudan|virginia|end\b|york|known as|understand\w*|colds?\b|health\b"
    r"|blot|tax\b|back\b|as (?:reasonably|possible)|reproduct|of (?:our|my|the authors)"
    r"|ancestors?\b)|\s*,)",
    re.IGNORECASE,
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


def comparatives(text: str, source: Source, rng: Random) -> Iterator[Draft]:  # noqa: ARG001
    """Yield drafts that replace words of comparison and order by their opposites."""
    for match in _MORE.finditer(text):
        if not _MORE_LEAD.search(text[: match.start()]):
            word = "more" if match["word"].lower() != "more" else _less(match["next"])
            yield _draft("comparative", match, "word", word)
    for match in _MOST.finditer(text):
        yield _draft("comparative", match, "word", _swap(match["word"], "most", "least"))
    for match in _FIRST.finditer(text):
        yield _draft("comparative", match, "word", _swap(match["word"], "first", "last"))
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
            yield _draft("comparative", match, 0, _OPPOSITES[match.group().lower()])


def _less(following: str) -> str:
    counted = following.endswith("s") and not following.endswith(("ss", "us", "ous", "is"))
    return "fewer" if counted else "less"


def _swap(word: str, one: str, other: str) -> str:
    return other if word.lower() == one else one


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


def _draft(kind: Kind, match: re.Match[str], group: int | str, new: str) -> Draft:
    """Replace a group of the match, in the old word's capitals."""
    old = match.group(group)
    written = new[:1].upper() + new[1:] if old[:1].isupper() else new
    return Draft(kind, (Edit(*match.span(group), written),))


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
# What is looked for, and what it may become; \g<> takes groups over.
_QUANTIFIERS: Mapping[str, tuple[str, ...]] = {
    r"\ball of (?=the|its|his|her|their|these|those)": ("none of ", "few of "),
    rf"{_NOT_SET}(?<!above )\ball (?=(?:the|its|his|her|their|these|those) \w+s\b)": (
        "none of ",
        "few of ",
    ),
    rf"{_NOT_SET}(?<!are )(?<!were )\ball (?={_PLURAL})(?!others|this|was|is|his)": (
        "no ",
        "few ",
    ),
    r"\bnone of ": ("all of ", "most of "),
    r"\bsome of ": ("all of ", "none of "),
    rf"\bsome (?={_PLURAL})(?!times|others|was|is)": ("no ",),
    r"\bmost of ": ("few of ", "none of "),
    rf"(?<!the )(?<!second )(?<!third )\bmost (?=(?:[a-z]+ )?{_PLURAL})(?!\w+(?:ly|us)\b)": (
        "few ",
        "no ",
    ),
    r"\b(?:many|numerous) of ": ("few of ", "none of "),
    r"(?<!how )(?<!as )(?<!so )(?<!too )(?<!the )\b(?:many|numerous) (?=[a-z]+)(?!of|more)": (
        "few ",
        "no ",
    ),
    rf"(?<!a )(?<!the )(?<!last )(?<!first )(?<!next )(?<!past )\bfew (?={_PLURAL})": ("many ",),
    rf"\ba few (?={_PLURAL})": ("hundreds of ",),
    r"\bboth (?!(?:in|on|at|for|by|with|to|of|from) )(?P<a>[\w’' -]{2,40}?) and ": (
        r"neither \g<a> nor ",
    ),
    r"\bneither (?P<a>[\w’' -]{2,40}?) nor ": (r"both \g<a> and ",),
    r"\bboth of ": ("neither of ",),
    r"\bneither of ": ("both of ",),
    r"\bat least (?=[\d$€£]|one|two|three|four|five|six|seven|eight|nine|ten)": ("at most ",),
    r"\bat most (?=[\d$€£]|one|two|three|four|five)": ("at least ",),
    r"\bup to (?=[\d$€£])": ("at least ",),
    r"\balways\b": ("never", "rarely"),
    rf"{_NO_DEGREE}\boften\b(?! than)": ("never", "rarely"),
    rf"{_NO_DEGREE}\b(?:usually|typically|generally|frequently|commonly)\b(?= [a-z]+)": (
        "rarely",
        "never",
    ),
    r"\b(?:rarely|seldom|hardly ever)\b": ("often", "always"),
    r"(?<!can )\bsometimes\b": ("always", "never"),
    r"\b(?:entirely|completely|fully|exclusively|solely)\b": ("only partly",),
    r"\b(?:only partly|partially|partly)\b": ("entirely",),
    r"(?<=\w |, )\b(?:mainly|mostly|primarily|largely|predominantly)\b": ("only rarely",),
    r"\bhalf of ": ("a quarter of ", "three quarters of ", "nearly all of "),
    r"\b(?:a|one)[ -]third of ": ("half of ", "two thirds of "),
    r"\btwice (?=a|as|the|per|in)": ("three times ", "four times "),
    r"\beveryone\b": ("no one",),
    r"\bno one\b": ("everyone",),
    r"\bno (?=(?:evidence|information|changes?|effects?|differences?|cases?|signs?|symptoms?)\b)": (
        "some ",
        "considerable ",
    ),
}
_COMPILED = [(re.compile(form, re.IGNORECASE), news) for form, news in _QUANTIFIERS.items()]


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
            if old.endswith(" "):  # the space is no part of the change
                match_end, new = match.end() - 1, new.rstrip()
            else:
                match_end = match.end()
            written = new[:1].upper() + new[1:] if old[:1].isupper() else new
            yield Draft("quantifier", (Edit(match.start(), match_end, written),))


def _fits(before: str, new: str) -> bool:
    """Return whether a quantity can follow these words, as seen by what it denies."""
    if _FRONTED.search(before) and _NEGATED.match(new):
        return False
    return _DENIES_CLAUSE.match(new) is None or _CLAUSE_START.search(before) is not None
