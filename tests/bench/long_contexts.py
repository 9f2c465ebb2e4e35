"""Contracts among papers: the same claims over contexts of three lengths, as labelled rows.

Run as `python -m tests.bench.long_contexts DATA > rows.jsonl`, then `moonlynx eval --benchmark
rows.jsonl`, whose report has the three lengths apart. From each agreement of ContractNLI's test
part under 5,000 tokens a hypothesis that it entails and one that it does not are drawn; the
agreement is given alone, and among short whole papers of COVID-QA, which say nothing of it, until
there are 10,000 and 24,000 tokens (4 bytes each). It stands anywhere among them.
"""

import gzip
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LENGTHS = (0, 10_000, 24_000)
SHORT = 5_000


def rows(data: Path) -> Iterator[dict[str, Any]]:
    """Yield every row, the same ones every time."""
    rng = random.Random(0)
    contracts = _read(data / "contract_nli" / "test.json.gz")
    papers = [
        paragraph["context"]
        for paper in _read(data / "covid_qa" / "200423_covidQA.json.gz")["data"]
        for paragraph in paper["paragraphs"]
        if _tokens(paragraph["context"]) < SHORT
    ]
    for document in contracts["documents"]:
        choices = document["annotation_sets"][0]["annotations"]
        entailed = [name for name, found in choices.items() if found["choice"] == "Entailment"]
        others = [name for name in choices if name not in entailed]
        if _tokens(document["text"]) >= SHORT or not entailed or not others:
            continue
        asked = {rng.choice(entailed): "PASS", rng.choice(others): "FAIL"}
        for length in LENGTHS:
            among: list[str] = []
            left = rng.sample(papers, len(papers))
            while sum(map(_tokens, [*among, document["text"]])) < length:
                among.append(left.pop())
            among.insert(rng.randint(0, len(among)), document["text"])
            for name, label in asked.items():
                yield {
                    "id": f"{document['id']}-{name}-{length}",
                    "context": among,
                    "answer": contracts["labels"][name]["hypothesis"],
                    "label": label,
                }


def _read(path: Path) -> Any:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return json.load(lines)


def _tokens(text: str) -> int:
    return len(text.encode("utf-8")) // 4


if __name__ == "__main__":
    for row in rows(Path(sys.argv[1])):
        sys.stdout.write(json.dumps(row) + "\n")
