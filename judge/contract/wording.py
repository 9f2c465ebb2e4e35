"""How the closed lists of the contract are said to a person."""

from collections.abc import Mapping

from .types import CitationStatus, SentenceKind

KINDS: Mapping[SentenceKind, str] = {
    "contradicted": "contradicted by the documents",
    "not_mentioned": "not mentioned in the documents",
    "false_refusal": "a false refusal: the documents say it",
    "common_knowledge": "common knowledge, let pass",
}
STATUSES: Mapping[CitationStatus | None, str] = {
    "supported": "supports it",
    "supported_elsewhere": "does not support it, another document does",
    "unsupported": "does not support it",
    "dangling": "no such document",
    None: "not checked",
}
