"""Names that `luna2:pii` finds in EntFA's summaries: recall of its entities, precision of spans.

python names.py DATA
"""

import json
import sys
from pathlib import Path

from moonlynx.judge.contract.types import MetricInput
from moonlynx.judge.metrics.loading import load_metric

KINDS = {"PERSON": "person", "GPE": "location", "LOC": "location", "ORG": "organization"}

pii = load_metric("luna2:pii")
counts = {name: [0, 0, 0, 0] for name in dict.fromkeys(KINDS.values())}
for file in ("test.json", "train.json"):
    for row in json.loads((Path(sys.argv[1]) / "entfa" / file).read_text(encoding="utf-8")):
        gold = [
            (KINDS[each["type"]], each["start"], each["end"])
            for each in row["entities"]
            if each.get("type") in KINDS
        ]
        (verdict,) = pii([MetricInput(input="", output=row["prediction"])])
        said = [(s.label, s.start, s.end) for s in verdict.spans if s.label in counts]
        for one, other, at in ((gold, said, 0), (said, gold, 2)):
            for label, start, end in one:
                hit = any(o == label and s < end and start < e for o, s, e in other)
                counts[label][at] += hit
                counts[label][at + 1] += 1
for label, (found, entities, right, spans) in counts.items():
    print(f"{label}: recall {found / entities:.3f} of {entities}, precision {right / spans:.3f} of {spans}")
