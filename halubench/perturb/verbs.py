"""English verbs: how the common ones are inflected, to negate them and to take a negation away."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Tense = Literal["third", "past"]

# Base, past; a trailing + marks pasts that are never participles, so always finite.
_IRREGULAR = """
become became+ begin began+ bring brought build built buy bought catch caught choose chose+ come
came+ draw drew+ drink drank+ drive drove+ eat ate+ fall fell+ feel felt fight fought find found
fly flew+ forget forgot+ get got give gave+ go went+ grow grew+ hear heard hold held keep kept
know knew+ lead led leave left lose lost make made mean meant meet met pay paid ride rode+ rise
rose+ run ran+ say said see saw+ sell sold send sent sing sang+ sit sat speak spoke+ spend spent
stand stood steal stole+ swim swam+ take took+ teach taught tell told think thought throw threw+
understand understood wear wore+ win won write wrote+ undergo underwent+ overcome overcame+
break broke+
"""
_REGULAR = """
accept achieve acquire add address adopt affect agree aim allow announce appear apply appoint
approve argue arrive ask attack attempt attend award base beat believe belong boil call carry
cause change charge claim close combine complete confirm consider consist contain continue
contribute control convert cook cost cover create criticize decide declare defeat define deliver
decline decrease deny depend describe design destroy determine develop die direct discover display
dominate drop
earn enable encourage end enjoy enter establish evolve exist expand expect explain explore
express extend face fail feature focus follow force form gain generate happen help identify
illustrate impact implement improve include increase indicate influence inform inhibit inspire
introduce invent invite involve join kill lack last launch learn like limit list live locate
love maintain manage mark marry mention move name need note observe occur offer open operate opt
order originate own participate pass perform persuade place plan play point possess practice
prefer prepare present preserve prevent produce promote protect prove provide publish question
range reach receive recommend record reduce refer reflect refuse reject relate release remain
remove replace report represent require resemble respond result retain retire return reveal save
score seek seem serve share show sign sleep sound star start state stay stop stress study
succeed suffer suggest supply support surrender survive suspect target tend test thank trace
train transfer travel treat try turn use vary view visit wait walk want warn wash watch win work
worsen yield
"""
_DOUBLING = {
    "stop",
    "plan",
    "drop",
    "refer",
    "occur",
    "control",
    "star",
    "prefer",
    "opt",
    "transfer",
}
# Third persons that are also plural nouns.
_NOUNS = frozenset(
    """accepts addresses aims attacks attempts awards bases boils calls causes changes charges
    claims closes controls cooks costs covers declines decreases designs displays drops ends enters
    experiences faces
    features fights focuses forces forms gains grows helps holds impacts increases influences
    joins lacks lasts leads leaves lists lives loves marks means moves names needs notes offers
    opens orders owns passes pays places plans plays points practices presents produces questions
    ranges reaches records reports results returns rides rises runs scores seeks shares shows signs
    sleeps sounds stands stars starts states stays stops stresses studies supplies supports
    suspects targets tests thanks traces trains transfers travels treats tries turns uses views
    visits walks wants warns washes watches wins works yields""".split()  # noqa: SIM905
)


class Form(NamedTuple):
    """A verb's form: its base, its tense, and whether the form can be nothing else."""

    base: str
    tense: Tense
    sure: bool


def third(base: str) -> str:
    """Return the third person singular: has, does, carries, reaches, keeps."""
    if base in ("have", "do", "go"):
        return {"have": "has", "do": "does", "go": "goes"}[base]
    if base.endswith(("s", "x", "z", "ch", "sh")):
        return f"{base}es"
    return f"{base[:-1]}ies" if base[-1:] == "y" and base[-2:-1] not in "aeiou" else f"{base}s"


def _regular_past(base: str) -> str:
    if base in _DOUBLING:
        return f"{base}{base[-1]}ed"
    if base.endswith("e"):
        return f"{base}d"
    return f"{base[:-1]}ied" if base[-1:] == "y" and base[-2:-1] not in "aeiou" else f"{base}ed"


def _tables() -> tuple[dict[str, str], dict[str, Form]]:
    words = _IRREGULAR.split()
    pasts = {base: past.rstrip("+") for base, past in zip(words[::2], words[1::2], strict=True)}
    finite = {past.rstrip("+") for past in words[1::2] if past.endswith("+")}
    same = {"beat": "beat", "cost": "cost", "seek": "sought", "sleep": "slept", "have": "had"}
    pasts = {base: _regular_past(base) for base in _REGULAR.split()} | pasts | same
    forms = {
        past: Form(base, "past", past in finite) for base, past in pasts.items() if past != base
    }
    forms |= {third(base): Form(base, "third", third(base) not in _NOUNS) for base in pasts}
    # Auxiliaries by themselves.
    del forms["has"], forms["had"]
    return pasts, forms


PASTS, FORMS = _tables()
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|can|could|would|may|might|should|must|does|did)\b"
)


def has_verb(text: str) -> bool:
    """Return whether the text holds an auxiliary or a known verb, not a noun like "results"."""
    forms = (FORMS.get(word) for word in text.split())
    return bool(_FINITE.search(text)) or any(
        form is not None and (form.sure or form.tense == "past") for form in forms
    )
