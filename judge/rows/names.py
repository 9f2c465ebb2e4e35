"""The names that fields have in users' rows (docs/input.md), and what is said of a missing one."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any

# As RAGAS, DeepEval, TruLens, Phoenix, LangChain and Databricks call them. Case, spaces, `_` and
# `-` do not count.
NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "query", "input", "user_input"),
    "context": (
        "context",
        "contexts",
        "document",
        "documents",
        "passage",
        "passages",
        "retrieved_context",
        "retrieved_contexts",
        "retrieved_documents",
        "retrieval_context",
        "source_documents",
    ),
    "answer": ("answer", "response", "output", "actual_output"),
}
_WANTED = "the answer that was wanted, not the one that was given"
_TO_RETRIEVE = "what should have been retrieved, not what was"
# By name: the field that it might be taken for, and what it is.
IGNORED: Mapping[str, tuple[str, str]] = {
    "ground_truth": ("answer", _WANTED),
    "ground_truths": ("answer", _WANTED),
    "expected_answer": ("answer", _WANTED),
    "expected_output": ("answer", _WANTED),
    "expected_response": ("answer", _WANTED),
    "reference_answer": ("answer", _WANTED),
    "reference_outputs": ("answer", _WANTED),
    "reference_contexts": ("context", _TO_RETRIEVE),
    "expected_chunks": ("context", _TO_RETRIEVE),
    "reference": ("context", "the documents in Phoenix, but the wanted answer in RAGAS"),
    "prompt": ("question", "often more than the question, such as the documents"),
}


_MOST = 12  # names in a message


def normalise(name: str) -> str:
    """Return a name without what does not count in it."""
    return re.sub(r"[\s_-]+", "", name).casefold()


FIELD_OF = {normalise(name): ours for ours, names in NAMES.items() for name in names}


def shown(name: str) -> str:
    """Return a name as a message can hold it."""
    name = name if len(name) <= 60 else f"{name[:57]}..."
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def listed(raw: Mapping[str, Any]) -> str:
    """Return a row's names as a message can hold them."""
    names = [shown(name) for name in list(raw)[:_MOST]]
    return ", ".join(names) + (", ..." if len(raw) > _MOST else "")


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
