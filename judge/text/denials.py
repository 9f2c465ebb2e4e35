"""Sentences that say that the documents do not say something.

They claim nothing that a document could support, but one that says it shows them wrong. Rules for
English, made to miss: what says more than that, after a comma or "but", is a claim.
"""

import re

from .markup import read_markup

_NOUN = (
    r"(?:context|passage|document|text|source|excerpt|article|information|data|content|result"
    r"|recipe|manual|report|record|page|review|description|transcript|entry|snippet|paragraph|faq)s?"
)
_DOCUMENTS = (
    r"(?:(?:the|this|these|those|your|my|our) )?(?:\w+ ){0,2}?"
    rf"{_NOUN}(?: (?:provided|given|available|above|itself))?"
)
_IN = rf"(?:in|from|by|within) {_DOCUMENTS}"
_NOT = r"(?: not|n[’']t)"
_HOW = r"(?:(?:explicitly|specifically|directly|clearly|actually|also|even) )?"
_SAY = (
    r"(?:say|state|mention|specify|indicate|provide|contain|include|give|offer|discuss|describe"
    r"|explain|address|cover|list|reveal|disclose|clarify|report|detail|tell(?: us| you| me)?)"
)
_SAYS = r"(?:provides?|contains?|includes?|gives?|makes?|offers?|has|have|had)"
_SAID = r"(?:mentioned|specified|stated|indicated|discussed|described|explained|disclosed)"
_SAID_THERE = rf"(?:{_SAID}|provided|given|included|covered|listed|available|found)"
_WHAT = (
    r"(?:(?:any|enough|sufficient|specific|further|additional|direct|explicit|more|relevant) ){0,2}"
    r"(?:information|details?|data|mention|indication|evidence|specifics|answers?)"
)
_ABOUT = r"(?:about|on|regarding|concerning|as to|of|for|that|to)"
_TOPIC = r"(?P<topic>[^,;:]{3,160}?)"
_END = rf"(?: {_IN})?[ .!]*$"
_DENIALS = tuple(
    # Where markup was, there are several blanks.
    re.compile(f"(?:(?:however|unfortunately|but|also|and),? )?{pattern}".replace(" ", " +"), re.I)
    for pattern in (
        rf"{_DOCUMENTS} (?:do|does|did){_NOT} {_HOW}{_SAY} "
        rf"(?:{_WHAT} (?:{_ABOUT} )?)?{_TOPIC}{_END}",
        rf"{_DOCUMENTS} {_HOW}{_SAYS} no {_WHAT} {_ABOUT} {_TOPIC}{_END}",
        rf"there (?:is|was)(?: no|{_NOT} any) {_WHAT} (?:(?:given|provided|available) )?"
        rf"(?:{_IN} )?{_ABOUT} {_TOPIC}{_END}",
        rf"(?:i|we) (?:could|can|did)(?:{_NOT}|not|['’]t) find {_WHAT} {_ABOUT} {_TOPIC}{_END}",
        rf"it (?:is|was){_NOT} {_HOW}{_SAID} (?:{_IN} )?{_TOPIC}{_END}",
        rf"{_TOPIC} (?:is|are|was|were){_NOT} {_HOW}{_SAID}{_END}",
        rf"{_TOPIC} (?:is|are|was|were){_NOT} {_HOW}{_SAID_THERE} {_IN}[ .!]*$",
    )
)
_MORE = re.compile(
    r"\b(?:but|however|although|though|while|except|other than|beyond|because)\b", re.I
)
_LONGEST = 300  # characters


def find_denial(sentence: str) -> tuple[int, int] | None:
    """Return the range of what the sentence says that the documents do not say, or None."""
    if len(sentence) > _LONGEST:
        return None
    bare = read_markup(sentence).text.rstrip()
    start = len(bare) - len(bare.lstrip(" -*•"))
    for pattern in _DENIALS:
        found = pattern.match(bare, start)
        if found and not _MORE.search(found["topic"]):
            return found.span("topic")
    return None
