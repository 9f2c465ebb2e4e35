"""RAGBench: answers of chat models to the questions of twelve sets, labelled by GPT-4.

Friel et al., "RAGBench: Explainable Benchmark for Retrieval-Augmented Generation Systems" (2024),
rungalileo/ragbench, CC BY 4.0 as a whole. It is the published form of Luna's RAG QA data (section
4.1 of its paper). Test rows are test only. The subset is the question set, each a configuration.

A row is FAIL where `adherence_score` is false; gold spans are the sentences that
`unsupported_response_sentence_keys` names, punctuation after a key left aside.
"""

import re
from collections.abc import Mapping
from typing import Any

from .base import About, BenchmarkRow, HubLoader, make_row

_SETS = (
    *("covidqa", "cuad", "delucionqa", "emanual", "expertqa", "finqa"),
    *("hagrid", "hotpotqa", "msmarco", "pubmedqa", "tatqa", "techqa"),
)


def _row(number: int, raw: Mapping[str, Any]) -> BenchmarkRow | None:
    answer = raw["response"] or ""
    if raw["adherence_score"] is None or not answer.strip():
        return None
    return make_row(
        "ragbench",
        raw["configuration"],
        f"{raw['id']}-{number}",
        "PASS" if raw["adherence_score"] else "FAIL",
        question=raw["question"] or "",
        context=raw["documents"] or (),
        answer=answer,
        spans=() if raw["adherence_score"] else _spans(raw),
        generator=raw["generation_model_name"] or "",
    )


def _spans(raw: Mapping[str, Any]) -> list[tuple[int, int]] | None:
    """Find the unsupported sentences in the answer; None where one is not there."""
    wrong = {_plain(key) for key in raw["unsupported_response_sentence_keys"] or ()}
    spans: list[tuple[int, int]] = []
    place = 0
    for key, text in raw["response_sentences"] or ():
        start = raw["response"].find(text.strip(), place)
        place = max(place, start + len(text.strip()))
        if _plain(key) in wrong:
            if start < 0:
                return None
            spans.append((start, place))
    return spans or None


def _plain(key: str) -> str:
    return re.sub(r"\W", "", key)


HUB = HubLoader(
    About(
        "rungalileo/ragbench",
        "RAGBench (Friel et al., 2024), rungalileo/ragbench",
        "CC BY 4.0 as a whole; its parts keep their own terms",
        "FAIL if GPT-4 found a sentence of the answer unsupported (adherence_score is false)",
    ),
    ("test", "validation", "train"),
    _row,
    configurations=_SETS,
)
