"""Negation: "not" put in or taken out, with the auxiliary that it needs."""

import re
from collections.abc import Iterator
from random import Random

from .source import Sentence, Source, read
from .types import Draft, Edit
from .words import FORMS, PASTS, Form, any_of, listed, third

_AUXILIARY = re.compile(
    r"\b(?P<aux>is|are|was|were|will|would|should|must|can|could|may|might|has|have|had)\b"
    r"(?P<also>\s+also\b)?(?=\s+(?P<next>[\w$€£\"“'-]+))",
)
_CANNOT = {"can": "cannot", "may": "cannot", "might": "cannot"}
_NEVER_BEFORE = re.compile(rf"\b(?:{any_of('never before not')})\s+$", re.IGNORECASE)
_NEVER_AFTER = listed("never after not")
_BEFORE_BE = frozenset({"will", "would", "should", "must", "can", "could"})
_OBJECTS = frozenset({"to", "it", "they", "he", "she", "we", "you", "i", "no", "even", "just"})
_WEAK = re.compile(rf"\b(?:{any_of('weak')})\b", re.IGNORECASE)
_BRACKETED = re.compile(r"\([^()]*\)")
_CLAUSE = re.compile(r"[,;:()—]|\b(?:and|but|or|that|which|who)\b")
_NEGATIVE = re.compile(
    r"\b(?:not|never|no|none|neither|nor|cannot|without)\b|n['’]t\b", re.IGNORECASE
)
_PARTICIPLE = re.compile(f"(?:{any_of('participles')})")
# "Have limited ability": an adjective before its noun, and no participle.
_ATTRIBUTE = re.compile(
    r"\s+\w+ed\s+(?!\w+ly\b|(?:by|in|into|to|that|the|an?|from|for|as|on|with|at|of|and|or|its|their)\b)"
    r"[a-z\d]"
)
_UNENDED = re.compile(r"[\w,-]\s*\n\s*$")
_COMPARED = re.compile(r"\bthan\b[^,.;]*$")  # who was not treated: the other group
_BEEN = re.compile(r"\s+\w+\s+been\b")  # have both been
# Where something is written down is not what it says.
_POINTS = re.compile(
    r"\s+(?:\w+ )?(?:summari[sz]ed|shown|given|listed|described|depicted|presented|illustrated)"
    r"(?:\s*[.;]|\s(?:in|by)\s\(?(?:Fig|Table|Section|Supp))"
)
_PURPOSE = re.compile(r"\bso that\s[\w\s]*$")
_DENIAL = re.compile(
    r"\s+(?:(?:a|an|to be|been|\w+ly)\s+)?(?:unable|unlikely|unknown|uncommon|unusual|unnecessary"
    r"|inadequate|insufficient|incapable|impossible|little|few)\b"
)
_SUBJECT = re.compile(r"\b(he|she|it|they|we|you|i|who|which|this|that)\s+$", re.IGNORECASE)
_NAME_BEFORE = re.compile(r"[A-Z][\w'’.]+\s+$")
_OBJECT = re.compile(
    r"\s+(?:(?:the|an?|its|their|his|her|that|these|those|this|both|all)\b|[A-Z\d$€£\"“])"
)
_COMPLEMENT = re.compile(r"\s+(?:from|in|to|at|on|as|for|with)\b")
_AUXILIARIES = re.compile(
    r"\b(?:is|are|was|were|be|been|being|has|have|had|will|would|can|could|may|might|must|should"
    r"|does|do|did)\b"
)
_THERE = re.compile(
    r"\b(?P<there>[Tt]here (?:is|are|was|were))\s+(?:an?|some|several|many|two|three)(?=\s)"
    r"(?!\s(?:variety|number|range|lot|series|couple|host|majority|handful)\b)"
)
_COMMAND = re.compile(r"(?P<verb>[A-Z][a-z]+)\s+(?=(?:the|an?|your|it|them|all|some|any|\d)\b)")

_NOT = re.compile(
    r"\b(?P<aux>is|are|was|were|will|would|should|must|could|has|have|had|can)\s?(?:not\b|n['’]t\b)"
    r"(?!\s+(?:only|just|necessarily|yet|at all|all|every|always))"
)
_DO_NOT = re.compile(
    r"\b(?P<aux>does|do|did)(?:\s+not\b|n['’]t\b)\s+(?P<verb>[a-z]+)\b(?!\s+(?:any|either|yet))",
    re.IGNORECASE,
)
_CAN_NOT = re.compile(r"\b(?P<aux>can)(?:not|['’]t)\b|\bwo(?P<will>n['’]t)\b")
_NEVER = re.compile(r"\bnever\s+")
_ONLY = re.compile(r"\bonly\b", re.IGNORECASE)
# Words that a negation lets in, and that stay behind when it goes.
_ANY = re.compile(r"\b(?:any|nor|either|whether or|yet|anymore|at all|whatsoever|ever|until)\b")


def negations(text: str, source: Source, rng: Random) -> Iterator[Draft]:  # noqa: ARG001
    """Negate each clause that can be, and affirm each negated one."""
    for sentence in read((text,)).sentences:
        goes_on = _UNENDED.search(text[: sentence.start])  # from the line before
        if not sentence.text.endswith("?") and goes_on is None:
            for edit in sentence_negations(sentence):
                yield Draft("negation", (edit.moved(sentence.start),))


def sentence_negations(sentence: Sentence) -> Iterator[Edit]:
    """Yield the edits, in the sentence's own offsets, that negate one of its clauses."""
    text = sentence.text
    if _NEGATIVE.search(text):
        yield from _affirm(text)
        return
    if _ONLY.search(text):  # "is important only here" is not denied by "is not"
        return
    if there := _THERE.search(text):
        yield Edit(*there.span(), f"{there['there']} no")
        return
    command = _COMMAND.match(text)
    if command and command["verb"].lower() in PASTS:
        yield Edit(*command.span("verb"), f"Do not {command['verb'].lower()}")
        return
    yield from _negate_auxiliaries(text)
    yield from _negate_verbs(text)


def _clause_before(text: str, position: int) -> str:
    """Return the text before the position in its clause, with a clause that leads in to it."""
    before = _BRACKETED.sub(" ", text[:position])
    ends = [match.end() for match in _CLAUSE.finditer(before)]
    return before[ends[-1] if ends else 0 :]


def _negate_auxiliaries(text: str) -> Iterator[Edit]:
    for match in _AUXILIARY.finditer(text):
        aux, following = match["aux"], match["next"].lower()
        before = text[: match.start()]
        if (
            not before.strip()
            or _NEVER_BEFORE.search(before)
            or (following in _NEVER_AFTER and not (following == "be" and aux in _BEFORE_BE))
            or _WEAK.search(_clause_before(text, match.start()))
            or _POINTS.match(text, match.end())
            or _is_strange(text, match)
        ):
            continue
        if aux in ("has", "have", "had") and _ATTRIBUTE.match(text, match.end()):
            continue
        perfect = _PARTICIPLE.fullmatch(following) or _BEEN.match(text, match.end())
        if aux in ("has", "have", "had") and not perfect:
            helper = {"has": "does", "have": "do", "had": "did"}[aux]
            yield Edit(match.start(), match.end(), f"{helper} not have")
        else:
            yield Edit(match.start(), match.end(), _CANNOT.get(aux, f"{aux} not"))


def _is_strange(text: str, match: re.Match[str]) -> bool:
    """Return whether "not" here would deny a denial ("not unable"), a purpose or a comparison."""
    purpose = _PURPOSE.search(text[max(0, match.start() - 40) : match.start()])
    compared = _COMPARED.search(text[: match.start()])
    return bool(purpose or compared or _DENIAL.match(text, match.end()))


def _negate_verbs(text: str) -> Iterator[Edit]:
    """Negate finite verbs of the table: "contains" becomes "does not contain"."""
    for match in re.finditer(r"\b[a-z]+\b", text):
        form = FORMS.get(match.group())
        if form is None or not _is_finite(text, match, form):
            continue
        following = re.match(r"\s+(\w+)", text[match.end() :])
        if (
            _is_strange(text, match)
            or _WEAK.search(_clause_before(text, match.start()))
            or (following and following.group(1).lower() in _NEVER_AFTER - _OBJECTS)
        ):
            continue
        helper = "does" if form.tense == "third" else "did"
        yield Edit(*match.span(), f"{helper} not {form.base}")


def _is_finite(text: str, match: re.Match[str], form: Form) -> bool:
    """Return whether this is a finite verb, not a participle or noun, by the words around it."""
    before = text[: match.start()]
    if (
        not before.strip()
        or before.rstrip()[-1] in ',;:("“-'
        or re.match(r"\s+by\b|-", text[match.end() :])
    ):
        return False
    if subject := _SUBJECT.search(before):  # "found that influences on it grew" has no verb there
        return form.sure or form.tense == "past" or subject.group(1).lower() not in ("this", "that")
    if re.search(
        r"\b(?:the|an?|to|of|and|or|its|their|his|her|in|for|by|with|\w+ly)\s+$", before, re.I
    ):
        return False
    clause = _clause_before(text, match.start())
    if _AUXILIARIES.search(clause):
        return False
    if form.sure:
        return True
    if _AUXILIARIES.search(text) or not _NAME_BEFORE.search(before):
        return False
    # "Reds included in it" may be no clause, "Reds included the cup" and "Reds plays in it" are.
    follows = _OBJECT.match(text, match.end()) or (
        form.tense == "third" and _COMPLEMENT.match(text, match.end())
    )
    return follows is not None


def _affirm(text: str) -> Iterator[Edit]:
    if _ANY.search(text):  # "does not have any" cannot be affirmed by one word
        return
    for edit in _without_not(text):
        clause = _clause_before(text, edit.start)
        if not (_WEAK.search(clause) or _COMPARED.search(text[: edit.start])):
            yield edit


def _without_not(text: str) -> Iterator[Edit]:
    for match in _NOT.finditer(text):
        yield Edit(*match.span(), match["aux"])
    for match in _CAN_NOT.finditer(text):
        yield Edit(*match.span(), "will" if match["will"] else "can")
    for match in _DO_NOT.finditer(text):
        new = _affirmed(match["aux"].lower(), match["verb"])
        if new:
            start = match.start() == 0
            yield Edit(*match.span(), new.capitalize() if start else new)
    for match in _NEVER.finditer(text):
        following = re.match(r"\w+", text[match.end() :])
        if following:
            yield Edit(match.start(), match.end() + following.end(), following.group())


def _affirmed(aux: str, verb: str) -> str | None:
    """Return the finite form that "does not", "do not" or "did not" with this verb denies."""
    if verb not in PASTS:
        return None
    return {"does": third(verb), "do": verb, "did": PASTS[verb]}[aux]
