"""The names that fields have in users' rows: docs/input.md shows these tables."""

import re
from collections.abc import Mapping
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


def normalise(name: str) -> str:
    """Return a name without what does not count in it."""
    return re.sub(r"[\s_-]+", "", name).casefold()


FIELD_OF = {normalise(name): ours for ours, names in NAMES.items() for name in names}


def shown(name: str) -> str:
    """Return a name as a message can hold it."""
    name = name if len(name) <= 60 else f"{name[:57]}..."
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def listed(raw: Mapping[str, Any], most: int = 12) -> str:
    """Return a row's names as a message can hold them."""
    names = [shown(name) for name in list(raw)[:most]]
    return ", ".join(names) + (", ..." if len(raw) > most else "")
