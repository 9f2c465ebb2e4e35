"""Addresses and dates by `luna2:pii`'s head over Presidio's rows as they stand and with formats hidden.

python addresses.py DATA
"""

import sys
from pathlib import Path

from sklearn.metrics import f1_score, roc_auc_score

from moonlynx.judge.metrics.loading import load_metric
from moonlynx.recipes.luna2.data import load

pii, splits = load_metric("luna2:pii"), load("pii", Path(sys.argv[1]))
for side in ("validation", "test"):
    rows = getattr(splits, side)
    inputs = [row.input for row in rows]
    for name, verdicts in (("as they stand", pii._head(inputs)), ("formats hidden", pii(inputs))):
        for label in ("address", "date"):
            gold = [label in row.labels for row in rows]
            found = [verdict.labels[label] for verdict in verdicts]
            f1 = f1_score(gold, [p >= pii.thresholds[label] for p in found])
            print(f"{side}, {label}, {name}: AUROC {roc_auc_score(gold, found):.4f}, F1 {f1:.3f}")
