"""What a text must not give away: how its row was made.

A reasoning trace is written by one who knows what is wrong with an answer, and read by a judge that
must find it out. So it may not name the prompt's sections, speak of a right answer besides the one
judged, of annotators or labels, or say that the answer was altered (Lynx paper, appendix A.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_QUOTED = re.compile(r"“[^”]*+”|\"[^\"\n]*+\"")
_SECTIONS = re.compile(
    r"\b(?:CHANGE[ _]MADE|GOLD[ _]ANSWER|(?i:change_made|gold_answer|unsupported_span|evidence_text"
    r"|new_answer))"
)
# What is said of the answer or of a part of it; a context may well speak of altered states.
_PART = (
    r"(?:answer|response|statement|claim|sentence|phrase|wording|word|term|number|figure|value|name"
    r"|date|year|unit|amount|detail|it|this|which)"
)
_ALTERED = (
    r"(?:altered|changed|modified|edited|perturbed|tampered|swapped|substituted|reworded|rewritten"
    r"|replaced|falsified|manipulated|corrupted)"
)
_TELLING = (
    r"\b(?:change made|gold (?:answer|label)|ground truth)s?\b",
    # the answer was subtly changed
    rf"\b{_PART}\s+(?:was|were|is|are|(?:has|have|had) been|being)\s+(?:\w+ly\s+)?{_ALTERED}\b",
    # the answer changes "5" to "6"
    r"\banswer\s+(?:\w+ly\s+)?(?:alters|changes|modifies|replaces|swaps|substitutes|reverses|flips"
    r"|perturbs|misquotes the original)\b",
    # the altered answer, a perturbation, the change in the answer
    rf"\b{_ALTERED}\s+(?:version|answer|response|statement|part)\b",
    r"\bperturb(?:ed|s|ation|ations|ing)\b",
    r"\b(?:change|alteration|modification|edit|substitution)s?\s+(?:that\s+\w+\s+)?(?:made\s+)?"
    r"(?:in|of|to)\s+the\s+(?:\w+\s+)?answer\b",
    # the correct answer is, the original answer says
    r"\b(?:original|correct|right|true|reference|actual|real|expected|proper|intended)\s+"
    r"(?:answer|response)\b",
    r"\b(?:answer|response)\s+(?:originally|previously|formerly)\b",
    r"\b(?:originally|previously)\s+(?:said|stated|read|correct)\b",
    r"\bshould have (?:been|said|read|stated)\b",
    # according to the annotator
    r"\bannotat(?:ed|or|ors|ion|ions)\b",
    r"\b(?:labell?ed|marked|flagged|tagged)\s+(?:as|by)\b",
    r"\b(?:the|a)\s+reader['’]s\s+notes?\b",
)
_TELLS = re.compile("|".join(f"(?:{pattern})" for pattern in _TELLING), re.IGNORECASE)


def find_leak(texts: Iterable[str], about: str = "") -> str | None:
    """Return the first words that reveal how a row was made; None where there are none.

    Args:
        texts: the trace's bullets, or an answer. What is in double quotation marks is a
            quotation, and may say anything but the sections' names.
        about: what the texts are about; they may take its words up.
    """
    known = about.casefold()
    for text in texts:
        if section := _SECTIONS.search(text):
            return section.group()
        for found in _TELLS.finditer(_QUOTED.sub("“”", text)):
            if found.group().casefold() not in known:
                return found.group()
    return None
