"""Draw six parts of 50 rows from what `moonlynx rows` prints: two by seed 26, four more by 27.

    for name in halubench ragtruth faithbench; do moonlynx rows --benchmark $name; done |
      python draw.py FOLDER

Every ten rows, in order, have the same makeup, so that a run cut short is over a fair sample.
"""

import json
import random
import sys
from pathlib import Path

# Rows of each part by source (or its beginning): as many PASS, as many FAIL.
PLAN = {
    "halubench/covidQA": (2, 2),
    "halubench/FinanceBench": (2, 2),
    "halubench/halueval": (2, 2),
    "halubench/pubmedQA": (2, 2),
    "halubench/DROP": (0, 2),
    "halubench/RAGTruth": (2, 0),
    "ragtruth/QA": (4, 4),
    "ragtruth/Summary": (3, 3),
    "ragtruth/Data2txt": (3, 3),
    "faithbench/": (5, 5),
}
# An article of covidQA is 5,000 tokens, eight times another row's: the later parts do without.
SHORT_PLAN = PLAN | {
    "halubench/covidQA": (0, 0),
    "halubench/halueval": (3, 3),
    "halubench/pubmedQA": (3, 3),
}
LABELS = ("PASS", "FAIL")
TEN = {"halubench": 2, "ragtruth": 2, "faithbench": 1}  # of each label

rows = [json.loads(line) for line in sys.stdin]
folder = Path(sys.argv[1])
taken = set()


def draw_parts(parts, seed, plan):
    """Draw parts of 50 rows each from those that no part before has taken."""
    draw = random.Random(seed)
    queues = {(part, name, label): [] for part in parts for name in TEN for label in LABELS}
    for source, counts in plan.items():
        for label, count in zip(LABELS, counts, strict=True):
            pool = [
                row
                for row in rows
                if row["source"].startswith(source)
                and row["label"] == label
                and row["id"] not in taken
            ]
            drawn = draw.sample(pool, len(parts) * count)
            taken.update(row["id"] for row in drawn)
            for at, part in enumerate(parts):
                queues[part, source.partition("/")[0], label] += drawn[
                    at * count : (at + 1) * count
                ]
    for queue in queues.values():
        draw.shuffle(queue)
    for part in parts:
        write_part(part, queues)


def write_part(part, queues):
    ordered = [
        queues[part, name, label].pop()
        for _ in range(5)
        for name, count in TEN.items()
        for _ in range(count)
        for label in LABELS
    ]
    for row in ordered:
        if row["source"].startswith("faithbench/"):  # models of one set of rows, no subsets here
            row["source"] = "faithbench"
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ordered)
    (folder / f"part-{part}.jsonl").write_text(text, encoding="utf-8")
    (folder / f"part-{part}.txt").write_text(
        "".join(f"{row['id']} {row['label']}\n" for row in ordered)
    )


draw_parts("ab", 26, PLAN)
draw_parts("cdef", 27, SHORT_PLAN)
