"""Sentences that say that the documents do not say something.

They claim nothing that a document could support, but one that says it shows them wrong. Rules for
English, made to miss: what says more than that, after a comma or "but", is a claim.
"""

import re
from typing import NamedTuple

from .markup import read_markup

_NOUN = (
    r"(?:context|passage|document|text|source|excerpt|article|information|data|content|result"
    r"|recipe|manual|report|record|page|review|description|transcript|entry|snippet|paragraph|faq"
    r"|leaflet|booklet|brochure|handbook|instruction)s?"
)
_DOCUMENTS = (
    r"(?:(?:the|this|these|those|your|my|our) )?(?:\w+ ){0,2}?"
    rf"{_NOUN}(?: \d{{1,2}})?(?: (?:provided|given|available|above|itself))?"
)
# What these do not cover, offer or include is a claim: of a policy, of a guide who leads a tour.
_RULES = (
    r"(?:the|this|your|our) (?:\w+ )?(?:policy|rules|terms|menu|timetable|listing|website|guide"
    r"|notice|story|letter)"
)
_NONE = rf"(?:none of|neither(?: of)?) {_DOCUMENTS}"
_IN = rf"(?:based on|according to|in|from|by|within) {_DOCUMENTS}"
_NOT = r"(?: not|n[’']t)"
_HOW = r"(?:(?:explicitly|specifically|directly|clearly|actually|also|even) )?"
_SAY = (
    r"(?:say|state|mention|specify|indicate|provide|contain|include|give|offer|discuss|describe"
    r"|explain|address|cover|list|name|reveal|disclose|clarify|report|detail|tell(?: us| you| me)?)"
)
_TELL = r"(?:say|state|mention|specify|explain|clarify|tell(?: us| you| me)?)"
_GIVE = r"(?:provide|contain|include|give|offer|have)"
_SAYS = r"(?:provides?|contains?|includes?|gives?|makes?|offers?|has|have|had)"
_SAID = r"(?:mentioned|specified|stated|indicated|discussed|described|explained|disclosed)"
_SAID_THERE = rf"(?:{_SAID}|provided|given|included|covered|listed|available|found)"
# Where there is not more, or not in detail, there may still be something.
_FULL = (
    r"(?:further|additional|more|other|detailed|clear|exact|precise|complete|comprehensive"
    r"|definitive)"
)
_ANY = "an?|any|the|enough|sufficient|specific|direct|explicit|relevant|concrete|necessary"
_WHAT = (
    rf"(?:(?:{_ANY}|(?P<full>{_FULL})) ){{0,3}}"
    r"(?:information|details?|data|mention|indication|evidence|specifics|answers?|guidance"
    r"|guidelines?|instructions?|directions|explanations?|insights?|clarification)"
)
_ABOUT = r"(?:about|on|regarding|concerning|as to|of|for|that|to)"
_TOPIC = r"(?P<topic>[^;:]{3,200}?)"
_SUBJECT = r"(?P<topic>[^,;:]{3,160}?)"
_END = rf"(?: {_IN})?[ .!]*$"
_BEFORE = (
    r"(?:(?:(?:please )?note(?: that)?|however|unfortunately|but|also|and|therefore|thus|overall"
    rf"|additionally|furthermore|moreover|that said|{_IN})[,:]? ){{0,4}}"  # else exponential
)


def _compile(pattern: str) -> re.Pattern[str]:
    """Compile a pattern; where markup was, there are several blanks."""
    return re.compile(pattern.replace(" ", " +"), re.I)


_DENIALS = tuple(
    _compile(_BEFORE + pattern)
    for pattern in (
        rf"{_DOCUMENTS} (?:do|does|did){_NOT} {_HOW}{_SAY} "
        rf"(?:{_WHAT} (?:{_ABOUT} )?)?{_TOPIC}{_END}",
        rf"{_RULES} (?:do|does|did){_NOT} {_HOW}{_TELL} (?:{_WHAT} (?:{_ABOUT} )?)?{_TOPIC}{_END}",
        rf"{_NONE} {_HOW}{_SAY}s? (?:{_WHAT} (?:{_ABOUT} )?)?{_TOPIC}{_END}",
        rf"(?:it|they) (?:do|does|did){_NOT} {_HOW}{_GIVE} {_WHAT} {_ABOUT} {_TOPIC}{_END}",
        rf"{_DOCUMENTS} {_HOW}{_SAYS} no {_WHAT} {_ABOUT} {_TOPIC}{_END}",
        rf"there (?:is|was)(?: no|{_NOT} any) {_WHAT} (?:(?:given|provided|available) )?"
        rf"(?:{_IN} )?{_ABOUT} {_TOPIC}{_END}",
        rf"no {_WHAT} (?:is|was|are|were) (?:given|provided|available|included) "
        rf"(?:{_IN} )?{_ABOUT} {_TOPIC}{_END}",
        rf"(?:i|we) (?:could|can|did)(?:{_NOT}|not|['’]t) find {_WHAT} {_ABOUT} {_TOPIC}{_END}",
        rf"(?:i|we) (?:am|are|was|were) unable to {_GIVE} {_WHAT} {_ABOUT} {_TOPIC}{_END}",
        rf"it (?:is|was){_NOT} {_HOW}{_SAID} (?:{_IN} )?{_TOPIC}{_END}",
        rf"{_SUBJECT} (?:is|are|was|were){_NOT} {_HOW}{_SAID}{_END}",
        rf"{_SUBJECT} (?:is|are|was|were){_NOT} {_HOW}{_SAID_THERE} {_IN}[ .!]*$",
        rf"{_SUBJECT} (?:is|are|was|were){_NOT} {_HOW}{_SAID_THERE} "
        rf"in (?P<full>(?:\w+ )?detail){_END}",
    )
)
# Of the documents alone: what they tell of may be unclear itself.
_UNCLEAR = _compile(rf"{_BEFORE}it (?:is|was)(?: unclear|{_NOT} clear) (?:{_IN} )?{_TOPIC}{_END}")
_OF_THEM = _compile(_IN)
_MORE = re.compile(
    r"\b(?:but|however|although|though|while|except|other than|beyond|because)\b", re.I
)
_NOR_DOES_IT = r"nor (?:do|does|did) (?:it|they) "
# What may follow a comma: examples of what is not said, or the rest of a list of it.
_LISTED = re.compile(
    r", (?:such as|including|like|for example|e\.g\.) .+"
    rf"|,? {_NOR_DOES_IT}(?:{_SAY}|suggest|recommend) .+"
    r"|(?:, [\w'’-]+(?: [\w'’-]+){0,3}){0,6},? (?:(?:or|nor)(?: [\w'’-]+){1,8}"
    r"|and(?: [\w'’-]+){1,3})",
    re.I,
)
_NOR = re.compile(_NOR_DOES_IT, re.I)
_SAYS_MORE = re.compile(
    r"[\d£$€%]|\b(?:is|are|was|were|be|been|has|have|had|do|does|did|can|could|will|would|shall|should"
    r"|may|might|must|so|which|it|they|he|she|you|we|i|then|therefore)\b",
    re.I,
)
_LONGEST = 300  # characters


class Denial(NamedTuple):
    """What a sentence says that the documents do not say."""

    start: int  # its range in the sentence
    end: int
    whole: bool  # that they say nothing of it, not only that they do not say it in full


def find_denial(sentence: str) -> Denial | None:
    """Return what the sentence says that the documents do not say, or None."""
    if len(sentence) > _LONGEST:
        return None
    bare = read_markup(sentence).text.rstrip()
    start = len(bare) - len(bare.lstrip(" -*•"))
    patterns = (*_DENIALS, _UNCLEAR) if _OF_THEM.search(sentence) else _DENIALS
    for pattern in patterns:
        found = pattern.match(bare, start)
        if found and not _goes_on(found["topic"]):
            start, end = found.span("topic")
            return Denial(start, end, whole=not found.groupdict().get("full"))
    return None


def _goes_on(topic: str) -> bool:
    """Return whether there is a claim behind what is denied: "refunds, so ask for a voucher"."""
    if _MORE.search(topic):
        return True
    _, comma, rest = topic.partition(",")
    if not comma:
        return False
    return not _LISTED.fullmatch(comma + rest) or bool(_SAYS_MORE.search(_NOR.sub("", rest)))
