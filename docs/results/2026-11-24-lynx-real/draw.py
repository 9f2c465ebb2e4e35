"""Draw two halves of 50 rows from what `moonlynx rows` prints, by seed 26.

    for name in halubench ragtruth faithbench; do moonlynx rows --benchmark $name; done | python draw.py FOLDER

Every ten rows, in order, have the same makeup, so that a run cut short is over a fair sample.
"""

import json
import random
import sys
from pathlib import Path

# Rows of each half by source (or its beginning): as many PASS, as many FAIL.
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
TEN = {"halubench": 2, "ragtruth": 2, "faithbench": 1}  # of each label

rows = [json.loads(line) for line in sys.stdin]
draw = random.Random(26)
queues = {(half, name, label): [] for half in "ab" for name in TEN for label in ("PASS", "FAIL")}
for source, counts in PLAN.items():
    for label, count in zip(("PASS", "FAIL"), counts, strict=True):
        pool = [row for row in rows if row["source"].startswith(source) and row["label"] == label]
        drawn = draw.sample(pool, 2 * count)
        for half, part in (("a", drawn[:count]), ("b", drawn[count:])):
            queues[half, source.partition("/")[0], label] += part
for queue in queues.values():
    draw.shuffle(queue)
for half in "ab":
    ordered = [
        queues[half, name, label].pop()
        for _ in range(5)
        for name, count in TEN.items()
        for _ in range(count)
        for label in ("PASS", "FAIL")
    ]
    for row in ordered:
        if row["source"].startswith("faithbench/"):  # models of one set of rows, no subsets here
            row["source"] = "faithbench"
    folder = Path(sys.argv[1])
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ordered)
    (folder / f"half-{half}.jsonl").write_text(text, encoding="utf-8")
    (folder / f"half-{half}.txt").write_text(
        "".join(f"{row['id']} {row['label']}\n" for row in ordered)
    )
