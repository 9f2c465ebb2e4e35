"""How often toxicity and sexism are said of texts that nobody labelled for them.

python elsewhere.py DATA     # 300 comments of each of GoEmotions' tones at most, and 500 answers of FeTaQA
"""

import sys
from collections import defaultdict
from pathlib import Path

from moonlynx.judge.batch.metrics import load_metrics
from moonlynx.recipes.luna2.data import load

data = Path(sys.argv[1])
texts = defaultdict(list)
for row in load("tone", data).test:
    if len(texts[min(row.labels)]) < 300:
        texts[min(row.labels)].append(row.input.model_copy(update={"input": ""}))
for row in load("answer_relevance", data).test:
    if row.source == "fetaqa" and row.labels == {"true"} and len(texts["answers"]) < 500:
        texts["answers"].append(row.input.model_copy(update={"input": ""}))
for name in ("toxicity", "sexism"):
    (metric,) = load_metrics(f"luna2:{name}")
    for kind, inputs in texts.items():
        found = [v.labels["true"] >= metric.thresholds["true"] for v in metric(inputs) if v.labels]
        print(name, kind, len(found), f"{100 * sum(found) / len(found):.1f} %", flush=True)
