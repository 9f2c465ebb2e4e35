"""LLM-AggreFact: claims of eleven sets over documents, labelled by people.

Tang et al., "MiniCheck: Efficient Fact-Checking of LLMs on Grounding Documents" (EMNLP 2024),
lytang/LLM-AggreFact, CC BY-ND 4.0, gated: its terms are accepted on the Hub, and forbid training.
Test only. The subset is the set that a claim is from, among them TofuEval-MediaS and TofuEval-MeetB
(Tang et al., NAACL 2024), Reveal, ClaimVerify, ExpertQA, Lfqa and RAGTruth.

A row is FAIL where `label` is 0. Published tables are balanced accuracy, averaged over the sets.
"""

from collections.abc import Mapping
from typing import Any

from .base import About, BenchmarkRow, HubLoader, make_row


def _row(number: int, raw: Mapping[str, Any]) -> BenchmarkRow:
    return make_row(
        "llm-aggrefact",
        raw["dataset"],
        number,
        "PASS" if raw["label"] else "FAIL",
        context=raw["doc"],
        answer=raw["claim"],
    )


HUB = HubLoader(
    About(
        "lytang/LLM-AggreFact",
        "LLM-AggreFact (Tang et al., EMNLP 2024), lytang/LLM-AggreFact",
        "CC BY-ND 4.0",
        "FAIL if people found the claim not supported by the document (label 0)",
    ),
    ("test", "dev"),
    _row,
)
