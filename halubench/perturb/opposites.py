"""Words of order and of quantity: comparatives and other opposites, quantifiers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from random import Random

from .source import Source
from .types import Draft, Edit, Kind

# Pairs, each word the other's opposite.
_PAIRS = """
higher lower; highest lowest; increase decrease; increases decreases; increased decreased
increasing decreasing; larger smaller; largest smallest; bigger smaller; biggest smallest
older younger; oldest youngest; faster slower; fastest slowest; longer shorter; longest shortest
earlier later; earliest latest; better worse; best worst; stronger weaker; greater smaller
greatest smallest; cheaper costlier; warmer colder; hotter cooler; richer poorer; taller shorter
tallest shortest; wider narrower; deeper shallower; heavier lighter; thicker thinner
closer farther; rise fall; rises falls; rising falling; rose fell; gained lost; gains losses
grew shrank; expanded contracted; maximum minimum; majority minority; positive negative
northern southern; eastern western; north south; east west; northeast southwest
northwest southeast; upper lower; inside outside; indoor outdoor; indoors outdoors; before after
above below; high low; likely unlikely; possible impossible; able unable; effective ineffective
common rare; legal illegal; safe unsafe; public private; internal external; domestic foreign
guilty innocent; alive dead; include exclude; includes excludes; including excluding
included excluded; accepted rejected; accepts rejects; approved rejected; allowed forbidden
allows forbids; mandatory optional; required forbidden; permanent temporary; direct indirect
simple complex; expensive cheap; hot cold; strong weak; early late; male female; men women
man woman; husband wife; father mother; son daughter; sons daughters; brother sister
brothers sisters; won lost; bought sold; buyer seller; strengthened weakened; improved worsened
improves worsens; ancient modern; severe mild; acute chronic; soft hard; wet dry; thick thin
fresh stale; light dark; accept reject; supports opposes; supported opposed; support oppose
opened closed; arrived departed; enabled prevented
enables prevents; reduces increases; reduced increased; reduce increase; easy difficult
easier harder; similar different; healthy unhealthy; beginning end; morning evening; rural urban
winter summer; dominant recessive; liquid solid; natural artificial; accelerate delay
upward downward; minimal substantial; minor major; moderate extreme; primary secondary
active passive; formal informal; senior junior; inner outer; narrow wide; partial full
"""
_ONE_WAY = {"harder": "easier", "hard": "soft", "further": "nearer", "declined": "rose"}
_OPPOSITES = dict(_ONE_WAY)
for _pair in re.split(r"[;\n]", _PAIRS.strip()):
    _one, _other = _pair.split()
    _OPPOSITES.setdefault(_one, _other)
    _OPPOSITES.setdefault(_other, _one)
_OPPOSITE = re.compile(rf"(?<![\w-])(?:{'|'.join(_OPPOSITES)})(?![\w'’])", re.IGNORECASE)
# Set phrases in which the word does not order anything.
_SET_PHRASE = re.compile(
    r"(?:\b(?:no|any|named|look(?:ed|ing|s)?|shortly|soon|mentioned|described|given|listed|all|at"
    r"|right|your|the (?:information|text|passages?|context))\s|day\s)$",
    re.IGNORECASE,
)
_SET_PHRASE_AFTER = re.compile(
    r"(?:\s?-|\s(?:a while|school|court|all\b|on\b|behind|of course|out\b|up\b|carolina|dakota"
    r"|korea|africa|america|sudan|virginia|end\b|york|known as)|\s*,)",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"(?<![\w-])(?P<word>more|less|fewer)(?=\s+(?P<next>[\w$€£]+))(?!\s+or\b|\s+and\b)", re.I
)
_MORE_LEAD = re.compile(
    r"\b(?:once|any|no|some|and|or|much|even|or|learn|for|what's|the)\s+$", re.IGNORECASE
)
_MOST = re.compile(r"\b(?P<the>the)\s+(?P<word>most|least)(?=\s+[a-z]+)(?!\s+of\b)", re.IGNORECASE)
_FIRST = re.compile(
    r"\b(?P<lead>the|his|her|its|their|whose)\s+(?P<word>first|last)(?=\s+[a-z])"
    r"(?!\s+(?:place|step|time|name|few|two|three|day|week|month|year|decade|century|thing)s?\b)",
    re.IGNORECASE,
)


def comparatives(text: str, source: Source, rng: Random) -> Iterator[Draft]:  # noqa: ARG001
    """Turn words of comparison and order, and other opposites, into their contrary."""
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
        if not _SET_PHRASE_AFTER.match(text, match.end()):
            yield _draft("comparative", match, 0, _OPPOSITES[match.group().lower()])


def _less(following: str) -> str:
    counted = following.endswith("s") and not following.endswith(("ss", "us", "ous", "is"))
    return "fewer" if counted else "less"


def _swap(word: str, one: str, other: str) -> str:
    return other if word.lower() == one else one


def _is_name_part(text: str, match: re.Match[str]) -> bool:
    """Say whether the word stands in capitals although no sentence begins with it."""
    return match.group()[0].isupper() and bool(text[: match.start()].strip())


def _draft(kind: Kind, match: re.Match[str], group: int | str, new: str) -> Draft:
    """Replace a group of the match, in the old word's capitals."""
    old = match.group(group)
    written = new[:1].upper() + new[1:] if old[:1].isupper() else new
    return Draft(kind, (Edit(*match.span(group), written),))


_PLURAL = "(?:[a-z]+s|people|men|women|children)\\b"
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
    rf"\bsome (?={_PLURAL})(?!times|others|was|is)": ("all ", "no "),
    r"\bmost of ": ("few of ", "none of "),
    rf"(?<!the )(?<!second )(?<!third )\bmost (?=(?:[a-z]+ )?{_PLURAL})(?!\w+(?:ly|us)\b)": (
        "few ",
        "no ",
    ),
    r"\b(?:many|numerous) of ": ("few of ", "none of "),
    r"(?<!how )(?<!as )(?<!so )(?<!too )(?<!the )\b(?:many|numerous) (?=[a-z]+)(?!of)": (
        "few ",
        "no ",
    ),
    rf"(?<!a )(?<!the )(?<!last )(?<!first )(?<!next )(?<!past )\bfew (?={_PLURAL})": (
        "most ",
        "all ",
    ),
    rf"\ba few (?={_PLURAL})": ("hundreds of ",),
    r"\bboth (?P<a>[\w’' -]{2,40}?) and ": (r"neither \g<a> nor ",),
    r"\bneither (?P<a>[\w’' -]{2,40}?) nor ": (r"both \g<a> and ",),
    r"\bboth of ": ("neither of ",),
    r"\bneither of ": ("both of ",),
    r"\bat least (?=[\d$€£]|one|two|three|four|five|six|seven|eight|nine|ten)": ("at most ",),
    r"\bat most (?=[\d$€£]|one|two|three|four|five)": ("at least ",),
    r"\bup to (?=[\d$€£])": ("at least ",),
    r"\balways\b": ("never", "rarely"),
    r"(?<!n't )(?<!not )\boften\b(?! than)": ("never", "rarely"),
    r"(?<!not )(?<!n't )\b(?:usually|typically|generally|frequently|commonly)\b(?= [a-z]+)": (
        "rarely",
        "never",
    ),
    r"\b(?:rarely|seldom|hardly ever)\b": ("often", "always"),
    r"(?<!can )\bsometimes\b": ("always", "never"),
    r"\b(?:entirely|completely|fully|exclusively|solely)\b": ("only partly",),
    r"\b(?:only partly|partially|partly)\b": ("entirely",),
    r"\b(?:mainly|mostly|primarily|largely|predominantly)\b": ("only rarely",),
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
    """Put another quantity in the place of all, some, none, both, at least, always and the like."""
    for form, news in _COMPILED:
        for match in form.finditer(text):
            new = match.expand(rng.choice(news))
            old = match.group()
            if old.endswith(" "):  # the space is no part of the change
                match_end, new = match.end() - 1, new.rstrip()
            else:
                match_end = match.end()
            written = new[:1].upper() + new[1:] if old[:1].isupper() else new
            yield Draft("quantifier", (Edit(match.start(), match_end, written),))
