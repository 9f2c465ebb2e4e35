"""Whether an answer still takes one position where a part of it is negated.

"It helps, and therefore it should be used": where one part comes to say the opposite, the other
still says what it said, and a "therefore" or a "however" has lost its sense. Such an answer is not
wrong: it says two things. Values can change by themselves, and so can what is beside them.
"""

import re
from collections.abc import Sequence

from .held import is_outlook
from .source import Sentence, Source, content_of, read
from .types import Draft
from .words import FORMS, PASTS, any_of

OPENING = re.compile(r"\s*(?P<word>yes|no|maybe)(?=[,.:;!]|\s*$|\s*[—–]\s)", re.IGNORECASE)
AROUND_OPENING = " ,.:;!—–\n"
_TURNED = frozenset({"negation", "comparative", "quantifier", "yes-no"})
# What sets a part of a sentence against another, or gives it as reason or consequence of another.
_CONTRAST, _CONCLUSION = any_of("contrast"), any_of("conclusion")
_JOINED = re.compile(
    rf"\b(?:{_CONTRAST}|because|since|thereby|so that|due to|owing to|leads? to|and this"
    rf"|which (?!is |was |has )(?:\w+ly )?[a-z]+s|we (?:\w+ ){{0,2}}(?:recommend|propose|advise)"
    rf"|(?<!^)(?:{_CONCLUSION}))\b"
    r"|, (?!(?:in|ex)cluding|regarding|concerning|according|following|during|being|using|involving)"
    r"[a-z]{3,}ing\b",
    re.IGNORECASE,
)
# How a sentence begins that continues those before it, or is set against them.
_GOES_ON = re.compile(
    rf"(?:{_CONCLUSION}|{_CONTRAST}|also|moreover|furthermore|in addition|additionally|similarly"
    r"|likewise|alternatively)\b"
    r"|(?:this|these|our|such)\b[^,;]*\b(?:suggest|support|indicat|confirm|impl[iy]|highlight"
    r"|underlin|underscor|emphasi)"
    r"|(?:\w+\W+){0,6}?we (?:\w+ ){0,2}(?:recommend|propose|advise|suggest|conclude|believe)\b"
    rf"|.*\b(?:should|must|need(?:s|ed)?|recommend(?:s|ed)?|however|{_CONCLUSION})\b",
    re.IGNORECASE,
)
# The words behind an "and": a verb among them makes a second statement.
_AND = re.compile(r"\band ((?:[\w-]+ ?){1,5})")
_AUXILIARIES = frozenset(
    """is are was were has have had does do did can could may might will would should must cannot
    """.split()  # noqa: SIM905
)
_ASKED = 0.5  # of the question's content, by weight, in a sentence that answers it


def explanation(text: str) -> Sentence | None:
    """Return the first sentence after an opening yes, no or maybe; None where there is none."""
    opening = OPENING.match(text)
    if opening is None:
        return None
    rest = text[opening.end() :].lstrip(AROUND_OPENING)
    shift = len(text) - len(rest)
    first = next(iter(read((rest,)).sentences), None)
    return first and Sentence(0, first.start + shift, first.end + shift, first.text)


def going_on(text: str, position: int) -> list[Sentence]:
    """Return the sentences after a position that continue what is said there."""
    behind = [each for each in read((text,)).sentences if each.start > position]
    return [each for each in behind if _GOES_ON.match(each.text) and not is_outlook(each.text)]


def lost_position(text: str, draft: Draft, question: str, source: Source) -> str | None:
    """Return why the changed answer takes no single position; None where it does."""
    if draft.kind not in _TURNED:
        return None
    sentences = read((text,)).sentences
    changed = [
        each
        for each in sentences
        if any(each.start <= edit.start < each.end for edit in draft.edits)
    ]
    if any(_JOINED.search(each.text) for each in changed):
        return "joined"
    first = explanation(text)
    if draft.kind == "yes-no":
        return _left_behind(text, changed, draft)
    if any(each not in changed for each in going_on(text, draft.edits[0].start)[:1]):
        return "gone on from"
    if first is None:
        return None
    if any(each in changed for each in going_on(text, first.start)):
        return "gone on from"
    if text.lstrip().lower().startswith("maybe"):
        return None
    asked = content_of(question)
    opens = any(each.start <= first.start < each.end for each in changed)
    answers = any(source.coverage(asked, each) >= _ASKED for each in changed)
    return "against opening" if opens or answers else None


def _left_behind(text: str, changed: Sequence[Sentence], draft: Draft) -> str | None:
    """Return what a flipped opening left unchanged: a second statement, or a continuation of it."""
    for sentence in changed:
        at = max(edit.end for edit in draft.edits if edit.start < sentence.end) - sentence.start
        if any(map(_has_verb, _AND.findall(sentence.text, at))):
            return "joined"
    left = any(each not in changed for each in going_on(text, draft.edits[0].start))
    return "gone on from" if left else None


def _has_verb(words: str) -> bool:
    """Return whether the first word may be a verb, or a later one is."""
    first, *rest = words.split()
    if first in FORMS or first in PASTS:
        return True
    return any(
        word in _AUXILIARIES or (word in FORMS and FORMS[word].sure) for word in (first, *rest)
    )
