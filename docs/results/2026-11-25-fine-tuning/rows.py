"""Write training rows: those of HaluBench's builder, and labelled answers of the open sets of the mix `shipped`.

    python rows.py BUILT/train.jsonl DATA TOKENIZER > train.jsonl
"""

import json
import random
import sys
from pathlib import Path

from transformers import AutoTokenizer

from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.lynx import build_prompt
from moonlynx.recipes.data.mixes import SOURCES, Mix
from moonlynx.recipes.data.validation import rows_sha256

# as many PASS as FAIL
BUILT = {"covidQA": 60, "pubmedQA": 170, "RAGTruth": 60}
SETS = {
    "ragtruth_train_part": 60,
    "qa_feedback": 110,
    "frank": 110,
    "summedits": 110,
    "halueval": 40,
}
LONGEST = 680  # tokens of the prompt

built, root, tokenizer = (
    Path(sys.argv[1]),
    Path(sys.argv[2]),
    AutoTokenizer.from_pretrained(sys.argv[3]),
)
draw = random.Random(31)


def short(row):
    prompt = build_prompt(
        Example(question=row["question"], context=row["context"], answer=row["answer"])
    )
    return len(tokenizer(prompt)["input_ids"]) <= LONGEST


def take(rows, count):
    """Draw so many of each label, or as many as there are of the rarer."""
    rows = [row for row in rows if short(row)]
    sides = [[row for row in rows if row["label"] == label] for label in ("PASS", "FAIL")]
    count = min(count, *map(len, sides))
    return [row for side in sides for row in draw.sample(side, count)]


rows = [json.loads(line) for line in built.read_text(encoding="utf-8").split("\n") if line]
taken = [
    row
    for source, count in BUILT.items()
    for row in take([r for r in rows if r["source"] == source], count)
]
known = {row["answer"] for row in taken}
mix = Mix("shipped")
for name, count in SETS.items():
    answers = mix.training(name, root)
    found = [
        {
            "id": answer.example.id,
            "source": name,
            "question": answer.example.question,
            "context": list(answer.example.context),
            "answer": answer.example.answer,
            "label": answer.label,
            "group": answer.group,
            "provenance": {
                "file": name,
                "sha256": rows_sha256(answers),
                "row": answer.example.id,
                "licence": SOURCES[name].licence,
            },
        }
        for answer in answers
        if answer.example.answer not in known
    ]
    taken += take(found, count)
draw.shuffle(taken)
for row in taken:
    print(json.dumps(row, ensure_ascii=False))
