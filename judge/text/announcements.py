"""What announces an answer, and says no more than its question did.

"Here are the steps to bleed a radiator:" answers nothing yet, nor does "A summary in 50 words:".
Rules for English, made to miss: what has a content word or a number of its own is a claim.
"""

import re

from .markup import read_markup
from .tokens import stems_of

_ANNOUNCES = re.compile(
    r"\bhere(?:[’']s| is| are)\b|\b(?:these|following|below|follows)\b"
    r"|\b(?:answer|summary)\b[^:]*:$",
    re.IGNORECASE,
)
_BEGINS = re.compile(r"\b(?:is|are|was|were|includes?)\s*:$", re.IGNORECASE)  # a list, below it
# After such a question the line may be the answer: "Is it safe?" "Yes, these are safe:"
_WHETHER = re.compile(
    r"\s*(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may"
    r"|might|must)\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:no|not|never|none|neither|nor|without)\b|n[’']t\b", re.IGNORECASE)
_OF_ANSWERS = frozenset(
    stems_of(
        """here these following follow below above step way method procedure process instruction
        direction tip idea suggestion recommendation point item list bullet fact detail aspect
        guide guideline answer response reply summary overview outline breakdown explanation
        description comparison question query request asked passage document context text article
        information source excerpt search result provided given available retrieved supplied shared
        based according mentioned listed stated described outlined brief short quick concise simple
        detailed clear main key general important possible relevant numbered numbers bulleted
        include use try take do does done make need get way using can may should would sure
        certainly however therefore overall additionally"""
    )
)
_LENGTH = re.compile(
    r"(?:\b(?:in|within|under|of|with|using|about|around|approximately|roughly|exactly|just|only|at"
    r"|most|up|to|no|more|less|fewer|than|max|maximum)\s+){0,6}\b(?:\d{1,4}|one|two|three|four|five|six"
    r"|seven|eight|nine|ten|twenty|thirty|fifty|hundred)[\s-]+(?:word|sentence|paragraph|bullet(?: "
    r"?point)?|line)s?\b(?:\s+or\s+(?:less|fewer))?",
    re.IGNORECASE,
)
_COLON = re.compile(r":[*_]*(?!\S)\s*[*_]*(?=\S|\Z)")
_LONGEST = 300  # characters


def announcement_end(sentence: str, question: str) -> int:
    """Return the offset at which a sentence begins behind what only announces it, else 0."""
    colon = _COLON.search(sentence, 0, _LONGEST)
    if not colon:
        return 0
    said = read_markup(sentence[: colon.start() + 1]).text.strip(" \t\n*_-•")
    said, given = _LENGTH.sub(" ", said), _LENGTH.sub(" ", question)
    alone = colon.end() == len(sentence)
    if not (_ANNOUNCES.search(said) or (alone and _BEGINS.search(said))):
        return 0
    topic = set(stems_of(said)) - _OF_ANSWERS
    denies, asks = bool(_NOT.search(said)), bool(_NOT.search(given))
    as_asked = denies == asks and not _WHETHER.match(question) if topic else not denies
    return colon.end() if as_asked and topic.issubset(stems_of(given)) else 0
