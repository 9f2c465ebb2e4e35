"""What an error says about a missing field: which name of the row is probably meant."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any

from .names import FIELD_OF, IGNORED, listed, normalise, shown

# Too vague to be taken, but probably the field where it is missing.
_LIKELY = {
    "question": ("request", "instruction"),
    "context": ("docs", "chunks", "sources", "evidence", "knowledge", "retrieved_docs", "article"),
    "answer": ("completion", "prediction", "generation", "generated_text", "reply", "result"),
}
_LIKELY_OF = {normalise(name): ours for ours, names in _LIKELY.items() for name in names}
_OTHERS = {normalise(name): meant for name, meant in IGNORED.items()}
_TEXTS = ("page_content", "document.content", "content", "text", "output", "value")
_LOOKED_AT = 200  # names among which a missing field is looked for
_DEEP = 6


def missing(raw: Mapping[str, Any], ours: str) -> str:
    """Return a message that a field is missing, and what to do about it."""
    message = f"is missing; every row needs {ours!r}"
    if guess := _guess(raw, ours):
        guess = shown(guess)
        return f"{message}; if {guess} is it, name it {ours} or give --map {ours}={guess}"
    for name in islice(raw, _LOOKED_AT):
        meant, why = _OTHERS.get(normalise(name), ("", ""))
        if meant == ours:
            name = shown(name)
            return f"{message}; {name} is {why}: if it is the {ours}, give --map {ours}={name}"
    return f"{message}; found {listed(raw)}; give --map {ours}=NAME" if raw else message


def text_in(value: Mapping[str, Any], name: str) -> str:
    """Return the path of the text that an object is probably there for."""
    paths = list(islice(_leaves(value, name), _LOOKED_AT))
    likely = (path for end in _TEXTS for path in paths if path.endswith(f".{end}"))
    return next(likely, paths[0] if paths else f"{name}.NAME")


def _guess(raw: Mapping[str, Any], ours: str) -> str | None:
    names = list(islice(raw, _LOOKED_AT))
    if close := get_close_matches(ours, names, n=1, cutoff=0.8):
        return close[0]
    for path in islice(_leaves(raw, ""), _LOOKED_AT):
        parts = [normalise(part) for part in path.split(".")]
        telling = (FIELD_OF.get(part) or _LIKELY_OF.get(part) for part in reversed(parts))
        if next(filter(None, telling), None) == ours and not any(p in _OTHERS for p in parts):
            return path
    return None


def _leaves(value: Any, path: str, deep: int = _DEEP) -> Iterator[str]:
    """Yield the paths of the texts in a nested value; in a list, of those in its first element."""
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, Mapping) and deep:
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}" if path else name, deep - 1)
    elif isinstance(value, str):
        yield path
