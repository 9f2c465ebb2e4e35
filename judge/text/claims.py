"""Sentences that claim nothing: refusals, small talk, questions, offers.

Rules of thumb in English, made to miss rather than to excuse: a sentence counts as claiming nothing
only where all of it fits a pattern, so "I'm sorry, but the fee is $30" still makes its claim.
"""

from __future__ import annotations

import re

_SOURCE = (
    r"(?:(?:the|this|these|those|any|your)\s+)?"
    r"(?:(?:given|provided|supplied|available|retrieved|above|following)\s+)*"
    r"(?:context|passages?|documents?|texts?|information|sources?|excerpts?|articles?|data)"
    r"(?:\s+(?:provided|given|above|available|supplied|retrieved))?"
)
_LEAD = (
    r"(?:(?:i'?m|i am|we'?re|we are)?\s*(?:very\s+|so\s+)?(?:sorry|afraid)[,;]?\s*(?:but\s+|that\s+)?"
    r"|unfortunately,?\s*|i apologi[sz]e,?\s*(?:but\s+)?"
    rf"|(?:based on|according to|from|in)\s+{_SOURCE},?\s*)*"
)
_NOT = r"(?:not|n['’]t)"
_GOAL = (
    r"(?:(?:answer|respond to|help with)\s+(?:this|that|the|your)(?:\s+\w+)?\s+question"
    r"|answer(?:\s+(?:this|that|it))?|say|tell|know|be sure|determine(?:\s+(?:this|that|it))?)"
)
_PATTERNS = (
    # Refusals, which speak of the documents or the speaker and of nothing else.
    rf"{_LEAD}(?:i|we)\s+(?:do\s*{_NOT}|don['’]t)\s+know(?:\s+the answer(?:\s+to\s+(?:this|that|your)\s+question)?)?",
    rf"{_LEAD}(?:i|we)\s+(?:can\s*{_NOT}|cannot|can['’]t|could\s*{_NOT}|couldn['’]t|am\s+not\s+able\s+to"
    rf"|'?m\s+not\s+able\s+to|am\s+unable\s+to|'?m\s+unable\s+to|are\s+unable\s+to)\s+{_GOAL}"
    rf"(?:\s+(?:based on|from|with|using|given)\s+{_SOURCE})?",
    rf"{_LEAD}unable to {_GOAL}(?:\s+(?:based on|from|with|using|given)\s+{_SOURCE})?",
    rf"{_LEAD}{_SOURCE}\s+(?:do(?:es)?\s*{_NOT}|don['’]t|doesn['’]t)\s+"
    r"(?:say|tell|specify|mention (?:it|this|that)|answer (?:this|that|the|your) question"
    r"|(?:provide|contain|give|include|have) (?:an answer|(?:enough|sufficient|any|the) (?:relevant |necessary )?"
    r"(?:information|details?|context)(?: to (?:answer|determine)(?: (?:this|that|the|your) question| this| that)?)?))",
    rf"{_LEAD}(?:this|the|that|your)\s+question\s+(?:can\s*{_NOT}|cannot|can['’]t)\s+be\s+answered"
    rf"(?:\s+(?:based on|from|with|using|given)\s+{_SOURCE})?",
    rf"{_LEAD}there\s+(?:is|was)\s+(?:no|not enough|insufficient)\s+(?:relevant\s+)?information"
    rf"(?:\s+(?:in|about (?:this|that|it) in)\s+{_SOURCE})?(?:\s+to\s+{_GOAL})?",
    # Small talk, offers, thanks.
    r"(?:hi|hello|hey|dear)(?:\s+(?:there|all|everyone|sir|madam))?",
    r"(?:sure|certainly|of course|absolutely|great question|good question|okay|ok|alright)",
    r"(?:sure|certainly|of course|absolutely)[,!]\s+(?:i(?:'d|\s+would)\s+be\s+happy\s+to\s+help|here you (?:go|are))",
    r"(?:thank you|thanks)(?:\s+(?:so much|very much|a lot))?(?:\s+for\s+(?:asking|your (?:question|patience|message)))?",
    r"you(?:'re|\s+are)\s+(?:very\s+)?welcome",
    r"(?:please\s+)?(?:let me know|feel free to (?:ask|reach out|contact (?:me|us)))"
    r"(?:\s+if you (?:have|need) (?:any(?:thing)?|more|further|other)(?:\s+(?:more|other|further|else|questions?|help|information))*)?",
    r"i\s+hope\s+(?:this|that|it)\s+helps(?:\s+you)?",
    r"(?:i(?:'m|\s+am)|we(?:'re|\s+are))\s+(?:happy|glad|here)\s+to\s+help(?:\s+you)?",
    r"(?:how|what)\s+(?:else\s+)?(?:can|may)\s+(?:i|we)\s+(?:help|do|assist)(?:\s+(?:you|for you))?(?:\s+with)?(?:\s+today)?",
    r"(?:is|was)\s+there\s+anything\s+else(?:\s+(?:i|we)\s+can\s+(?:help|do)(?:\s+(?:you|for you))?(?:\s+with)?)?",
    r"(?:would|do)\s+you\s+(?:like|want|need)\s+(?:me\s+to\s+)?(?:know\s+)?(?:any\s+)?(?:more|further|explain)"
    r"(?:\s+(?:information|help|details?))?",
)
_NO_CLAIM = re.compile(rf"(?:{'|'.join(_PATTERNS)})\s*[.!?…]*", re.IGNORECASE)
_MARK = re.compile(r"^\s*(?:[-*•]\s+|\"|“)*|(?:\"|”)*\s*$")


def claims_nothing(sentence: str) -> bool:
    """Say whether the sentence holds nothing that a document could support or contradict."""
    bare = _MARK.sub("", sentence.replace("’", "'"))
    if not any(character.isalnum() for character in bare):
        return True
    return len(bare) <= 300 and _NO_CLAIM.fullmatch(re.sub(r"\s+", " ", bare)) is not None
