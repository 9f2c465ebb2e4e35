"""The words that the rules look for, from words.yaml, and how common verbs are inflected."""

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import yaml

Tense = Literal["third", "past"]

WORDS: Mapping[str, Any] = yaml.safe_load(
    files(__package__).joinpath("words.yaml").read_text(encoding="utf-8")
)
_VERBS: Mapping[str, list[str]] = WORDS["verbs"]
_DOUBLING = frozenset(_VERBS["doubling"])
_NOUNS = frozenset(_VERBS["third persons that are plural nouns"])


def listed(name: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(WORDS[name].split())


def any_of(name: str) -> str:
    """Return a list as the alternatives of a regular expression, in its order."""
    return "|".join(word.replace("_", " ") for word in WORDS[name].split())


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
    irregular = dict(pair.split() for pair in _VERBS["irregular"])
    pasts = {base: past.rstrip("+") for base, past in irregular.items()}
    finite = {past.rstrip("+") for past in irregular.values() if past.endswith("+")}
    same = {"beat": "beat", "cost": "cost", "seek": "sought", "sleep": "slept", "have": "had"}
    pasts = {base: _regular_past(base) for base in _VERBS["regular"]} | pasts | same
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
