"""Make a draft's text and decide whether it may be used: well-formed, different and not stated."""

import re

from moonlynx.judge.text import claims_nothing, forms_of, words

from .source import Sentence, Source, canonical, sentence_at
from .types import Change, Draft, Edit, Rejections

_ARTICLE = re.compile(r"\b(an?)(\s+)$", re.IGNORECASE)
_VOWEL_SOUND = re.compile(
    r"(?!(?i:eu|one\b|once\b|uni[tovqfcls]|us[ae]|uti|ur[aio])|u[.k]|US|UN|UK)(?i:[aeiou])"
    r"|8|11(?!\d)|18(?!\d)|(?i:hono|honest|hour|heir)|[FHLMNRSX][A-Z]"
)
_DOUBLED = re.compile(r"\b(\w+)\s+\1\b", re.IGNORECASE)
_BROKEN = re.compile(r"\s[,;:.!?](?=\s|$)|[,;:]{2}|,\.|\(\s|\s\)| {2}")
_NEGATIVE = re.compile(
    r"\b(?:not|never|no|none|neither|nor|without|cannot|lacks?|lacking|unable|fail(?:s|ed)?)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[.!?;:—]\s|\n|\b(?:and|but|although|though|while|whereas|because)\b")
_SENTENCE_END = re.compile(r"[.!?;:—]\s|\n|\b(?:but|although|though|while|whereas|because)\b")
# Ends in a word that leads in to another one, or in a word grown together with a figure.
_BREAKS_OFF = re.compile(
    r"(?:\b(?:by|of|the|an?|to|and|or|with|from|for|than|that|which|whom)|[a-z]{3}\d+,\d+)\s*$"
)
_DIGITS = re.compile(r"\d+")
# What "not" denies only in part: a figure, a denial, that something is worth noting.
_HARD_TO_DENY = re.compile(
    r"\s+(?:also\s+)?(?:[$€£]?\d|twice\b|half\b|about\b|around\b|approximately\b|nearly\b|almost\b|roughly\b"
    r"|\w+\salso\b|worth\b|noteworthy\b|interesting\b|noted\b|of (?:note|interest)\b)"
    r"|\s+(?:[\w-]+\s+){0,4}?(?:(?:un|in|im)[a-z]+[ai]ble|minimal|limited|little|few|poor|unlikely|unknown|inadequate"
    r"|insufficient|lack(?:s|ed|ing)?|absence|fail(?:s|ed|ing)?)\b"
)
_REPLACING = frozenset({"number", "date", "entity", "comparative"})
_PAIRS = ("()", "[]", "{}", "“”", '""')
_LONGEST = 8  # words that a minimal edit may replace
_LONG_KINDS = frozenset({"invented-clause", "fused"})
_STATED = 0.25  # of a sentence's content, beside the value itself, in one sentence of the context
_STATED_OF_NAME = 0.25
_SAME_FACT = 0.5


def realise(text: str, draft: Draft, source: Source, rejections: Rejections) -> Change | None:
    """Apply a draft; None, counted by its reason, where the result must not be used."""
    change = _carry_out(text, draft)
    reason = (
        _nothing_claimed(text, draft)
        or _cut(text, source)
        or _form_fault(text, change, draft)
        or _repeated(text, draft)
        or _said_again(text, draft)
        or _negation_fault(text, draft, source)
        or _under_negation(text, draft)
        or _stated(text, draft, source)
    )
    if reason:
        rejections[draft.kind, reason] += 1
        return None
    return change


def _carry_out(text: str, draft: Draft) -> Change:
    """Apply the edits, mending a/an before each; the change spans from the first to the last."""
    edits = [_mend_article(text, edit) for edit in draft.edits]
    start, end = edits[0].start, edits[-1].end
    pieces, position = [], start
    for edit in edits:
        pieces += [text[position : edit.start], edit.new]
        position = edit.end
    new = "".join(pieces)
    changed = text[:start] + new + text[end:]
    return Change(changed, draft.kind, start, start + len(new), text[start:end], new)


def _mend_article(text: str, edit: Edit) -> Edit:
    article = _ARTICLE.search(text[max(0, edit.start - 8) : edit.start])
    if not article or not edit.new[:1].isalnum():
        return edit
    wanted = "an" if _VOWEL_SOUND.match(edit.new) else "a"
    had = article.group(1)
    if had.lower() == wanted:
        return edit
    start = edit.start - len(article.group())
    written = wanted.capitalize() if had[0].isupper() else wanted
    return Edit(start, edit.end, written + article.group(2) + edit.new)


def _nothing_claimed(text: str, draft: Draft) -> str | None:
    """Refuse to edit what cannot be wrong: small talk, refusals, questions, headings of lists."""
    sentence = sentence_at(text, draft.edits[-1].start - (draft.kind == "invented-clause"))
    if sentence is None or sentence.text[-1] in ":?" or claims_nothing(sentence.text):
        return None if draft.kind == "yes-no" else "no claim"
    return None


def _cut(text: str, source: Source) -> str | None:
    """Refuse a piece of the context cut out within a word, a phrase, a bracket or a caption."""
    if (
        " | " in text
        or _BREAKS_OFF.search(text)
        or text.count("(") > text.count(")")
        or text.count("[") > text.count("]")
    ):
        return "cut"
    holders = [document for document in source.documents if text.strip() in document]
    whole = re.compile(rf"(?<!\w){re.escape(text.strip())}(?!\w)") if holders else None
    return "cut" if whole and not any(map(whole.search, holders)) else None


def _form_fault(text: str, change: Change, draft: Draft) -> str | None:
    """Return what is wrong with the form of the new text."""
    if not change.new or _normalised(change.old) == _normalised(change.new):
        return "same"
    if _fresh(_DOUBLED, text, change.text):
        return "doubled word"
    if _fresh(_BROKEN, text, change.text) or _unbalanced(text) != _unbalanced(change.text):
        return "ill-formed"
    if text[0].isupper() and change.text[0].islower():
        return "ill-formed"
    longest = max(max(text.count(" ", e.start, e.end), e.new.count(" ")) + 1 for e in draft.edits)
    if longest > _LONGEST and draft.kind not in _LONG_KINDS:
        return "not minimal"
    return None


def _normalised(text: str) -> list[str]:
    return [canonical(word.form) for word in words(text)]


def _fresh(fault: re.Pattern[str], old: str, new: str) -> bool:
    """Return whether the fault occurs more often in the new text."""
    return len(fault.findall(new)) > len(fault.findall(old))


def _unbalanced(text: str) -> list[int]:
    return [
        text.count(pair[0]) % 2 if pair[0] == pair[1] else text.count(pair[0]) - text.count(pair[1])
        for pair in _PAIRS
    ]


def _repeated(text: str, draft: Draft) -> str | None:
    """Refuse a name, date, number or opposite that the sentence already holds elsewhere."""
    sentence = sentence_at(text, draft.edits[0].start)
    if draft.kind not in _REPLACING or sentence is None:
        return None
    edit = draft.edits[0]
    start, end = edit.start - sentence.start, edit.end - sentence.start
    rest = f"{sentence.text[:start]} {sentence.text[end:]}"
    if draft.kind == "entity":
        new = forms_of(edit.new)
        return "repeated name" if new & forms_of(rest) else None
    held = {*_normalised(rest), *_DIGITS.findall(rest)}  # FY2021, too
    return "repeated value" if set(_normalised(edit.new)) <= held else None


def _said_again(text: str, draft: Draft) -> str | None:
    """Refuse to change one of two places that say the same: "women slept; both women"."""
    edit = draft.edits[0]
    if draft.kind not in ("comparative", "entity"):
        return None
    old = _normalised(text[edit.start : edit.end])
    rest = _normalised(f"{text[: edit.start]} {text[edit.end :]}")
    said = any(rest[at : at + len(old)] == old for at in range(len(rest)))
    return "said again" if old and said else None


def _negation_fault(text: str, draft: Draft, source: Source) -> str | None:
    """Refuse to negate where something is negated already, here or where the context says it."""
    edit = draft.edits[-1]
    if draft.kind not in ("negation", "yes-no") or not _NEGATIVE.search(edit.new):
        return None
    if any(_HARD_TO_DENY.match(text, each.end) for each in draft.edits):
        return "hard to deny"
    if draft.kind == "yes-no":
        return None
    sentence = sentence_at(text, edit.start)
    if sentence is None:
        return "ill-formed"
    if _NEGATIVE.search(sentence.text):
        return "double negation"
    holder = source.best(sentence.content)
    if (
        holder
        and _NEGATIVE.search(holder.text)
        and source.coverage(sentence.content, holder) >= _SAME_FACT
    ):
        return "stated"
    return None


def _under_negation(text: str, draft: Draft) -> str | None:
    """Refuse what a negation leaves true: no link with better outcomes is none with worse ones."""
    if draft.kind not in ("comparative", "quantifier", "entity"):
        return None
    edit = draft.edits[0]
    before = [match.end() for match in _CLAUSE_END.finditer(text, 0, edit.start)]
    after = _SENTENCE_END.search(text, edit.end)
    clause = text[before[-1] if before else 0 : edit.start]
    if draft.kind != "entity":  # "often not" as well as "not often"
        clause += " " + text[edit.end : after.start() if after else len(text)]
    return "under negation" if _NEGATIVE.search(clause) else None


def _stated(text: str, draft: Draft, source: Source) -> str | None:
    """Refuse what the context says of the same thing in one sentence."""
    if draft.kind in ("negation", "yes-no", "invented-clause", "fused"):
        return None
    for edit in draft.edits:
        sentence = sentence_at(text, edit.start)
        if sentence is not None and _states(source, sentence, edit, name=draft.kind == "entity"):
            return "stated"
    return None


def _states(source: Source, sentence: Sentence, edit: Edit, *, name: bool) -> bool:
    """Return whether a sentence of the context holds the new value beside the same words."""
    # Those next to it; for a name, whose words may be anywhere, also a quarter of all others.
    value = [canonical(word.form) for word in words(edit.new)]
    start, end = edit.start - sentence.start, edit.end - sentence.start
    inside = {word.form for word in sentence.tokens if start <= word.start and word.end <= end}
    near = sentence.near(start, end).difference(value)
    rest = sentence.content - inside - set(value)
    for holder in source.holding(set(value)):
        shared = source.coverage(rest, holder)
        if name and shared >= _STATED_OF_NAME:
            return True
        places = [token for token in holder.tokens if token.form == value[0]]
        beside = any(near & holder.near(place.start, place.end) for place in places)
        if beside and (name or shared >= _STATED):
            return True
    return False
