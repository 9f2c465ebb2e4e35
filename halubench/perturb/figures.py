"""Figures in a text: how they are found, read and distinguished from codes and labels."""

import re

from moonlynx.judge.text import content_tokens

from .words import FORMS, PASTS, any_of

_UNITS = r"kg|km|mg|ml|cm|mm|nm|kb|lbs?|oz|ft|mph|bn|hrs?|min|[mglkKMBx°]"
FIGURE = re.compile(
    r"(?<![\w.,:/'’”#&@\[])(?:(?<=\d[-–])|(?<![-–])|(?<=[\s(][-–]))"
    r"(?P<currency>[$€£¥]\s?)?(?P<figure>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    rf"(?P<percent>\s?(?:%|percent\b))?(?P<suffix>st|nd|rd|th)?(?=(?:{_UNITS})\b|(?!\w))"
    r"(?![.,/:]\d|\]|-\d+-|-\w*[A-Z]|['’′+=])"
)
_LABEL = re.compile(
    rf"\b(?:{any_of('labels')})\.?:?\s*(?:\d+(?:,|\s?[-–]|\s(?:and|or|to))\s*)*$", re.IGNORECASE
)
_CONFIDENCE = re.compile(r"\s?(?:CI\b|confidence|credible)")
_CITED = re.compile(r"\((?:\d+\s?[,–-]\s?)*$"), re.compile(r"(?:\s?[,–-]\s?\d+)*\)")
_PAGES = re.compile(r"\d+(?:\s?\(\d+\))?:\s?[A-Za-z]?\d+\s?[-–]\s?[A-Za-z]?\d+")  # 35 (2): 12-18
_LONGEST_PAGES = 30
# "Serotype 5", "adenovirus 5 (Ad5)": a noun before, and none after.
_NOUN_BEFORE = re.compile(r"(?<![\w-])(?P<noun>[A-Za-z][\w-]*)\s$")
_NO_NOUN_BEHIND = re.compile(
    r"\s?(?:$|[.,;:()\[\]])|\s(?:and|or|in|on|at|of|is|was|are|were|has|had|for|by|with|from|to|as"
    r"|that|which|than|but|during|after|before)\b"
)
_NO_NOUN = re.compile(r"(?:\w+(?:ed|ing|ly|er)|equals?|mean|median|total)$")
_LOCANT = re.compile(r"-[a-z]{9,}")  # 5-fluorouracil
_NAME_BESIDE = re.compile(r"\s(?:and|or)\s[A-Z]")  # 293 or PER.C6 cells
_PAGE = re.compile(r"\S[^\n]*\n\s*$")  # on a line of its own, a page number
_LIST_MARK = re.compile(r"(?:^|\n)\s*[(]?$")
_CODE = re.compile(r"0\d+|(?:1[5-9]|20)\d\d")  # with a leading zero, or like a year
_BEFORE = re.compile(
    r"(?P<figure>\d[\d,]*(?:\.\d+)?)\s?[%°A-Za-z]{0,8}\s?(?:-|–|—|to|and)\s?[$€£]?$"
)
_AFTER = re.compile(
    r"\s?[%°A-Za-z]{0,8}\s?(?:-|–|—|to|and|of|out of)\s?[$€£]?(?P<figure>\d[\d,]*(?:\.\d+)?)(?!\d)"
)


def counts(text: str, match: re.Match[str]) -> bool:
    """Return whether a match of FIGURE measures something: no mark, label, code or singular 1."""
    before = text[max(0, match.start() - 20) : match.start()]
    if _LABEL.search(before):
        return False
    if text[match.end() : match.end() + 1] in (".", ")") and _LIST_MARK.search(before):
        return False
    if _PAGE.search(before) and text[match.end() : match.end() + 1] in ("\n", ""):
        return False
    if _NAME_BESIDE.match(text, match.end()) or _LOCANT.match(text, match.end()):
        return False
    if _names(text, match) or _is_page(text, match):
        return False
    if _CONFIDENCE.match(text, match.end()) or (
        _CITED[0].search(before) and _CITED[1].match(text, match.end())
    ):
        return False
    figure, suffix = match["figure"], match["suffix"]
    if match["currency"] or match["percent"]:
        return True
    code = not figure.isdigit() if suffix else _CODE.fullmatch(figure) is not None
    return not code and (bool(suffix) or figure not in ("0", "1"))


def _names(text: str, match: re.Match[str]) -> bool:
    """Return whether the figure is part of a name: after a noun, and counting none."""
    noun = _NOUN_BEFORE.search(text[max(0, match.start() - 30) : match.start()])
    if noun is None or match["currency"] or match["percent"] or match["suffix"]:
        return False
    word = noun["noun"]
    known = word in FORMS or word in PASTS or _NO_NOUN.match(word)
    return not known and bool(content_tokens(word) and _NO_NOUN_BEHIND.match(text, match.end()))


def _is_page(text: str, match: re.Match[str]) -> bool:
    start, stop = max(0, match.start() - _LONGEST_PAGES), match.end() + _LONGEST_PAGES
    pages = _PAGES.finditer(text, start, min(stop, len(text)))
    return any(each.start() <= match.start() < each.end() for each in pages)


def value_of(figure: str) -> float:
    """Read a figure with or without thousands separators."""
    return float(figure.replace(",", ""))


def ordinal(value: int) -> str:
    """Write 1st, 2nd, 3rd, 11th."""
    teens = value % 100 in (11, 12, 13)
    return f"{value}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(value % 10, 'th')}"


def in_order(text: str, start: int, end: int, old: float, new: float) -> bool:
    """Return whether a figure of a range ("5 to 10", "2010-2012") stays on its side."""
    before = _BEFORE.search(text[max(0, start - 30) : start])
    after = _AFTER.match(text, end)
    for match in (before, after):
        if match:
            other = value_of(match["figure"])
            if other == new or (old < other) != (new < other):
                return False
    return True
