"""Learning curves of heads and TF-IDF on the first test rows; ROC of both as SVG beside this.

python curves.py DATA STATES METRIC...     # STATES: a folder for what is read, or that of the run that fitted the heads
"""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from moonlynx.eval.figures import Series, draw
from moonlynx.judge.judges.luna.weights import open_weights
from moonlynx.judge.metrics.definition import load_definition
from moonlynx.judge.metrics.encoder import EMBEDDED, heads_in
from moonlynx.judge.metrics.encoder.features import FeatureReader
from moonlynx.judge.metrics.encoder.head import open_head
from moonlynx.judge.metrics.encoder.states import StateEncoder
from moonlynx.recipes.luna2.baselines import by_words
from moonlynx.recipes.luna2.data import load
from moonlynx.recipes.luna2.features import KeptFeatures, find_layers
from moonlynx.recipes.luna2.fit_heads import fit_head, score
from moonlynx.recipes.luna2.measure import flags_of

SIZES = (500, 2_000, 5_000)
VALIDATED, TESTED = 1_000, 1_500  # rows at most, the first ones
POINTS = 200  # of a curve, at most
AXES = ("false positives, of all negatives", "true positives, of all positives")
data, states, *metrics = sys.argv[1:]
weights = open_weights(None, None)
layers = find_layers(weights.path)
reader = FeatureReader(StateEncoder(weights.path, layers), weights.tokenizer)
kept = KeptFeatures(reader, layers, weights.tokenizer, Path(states))
for metric in metrics:
    definition, rows = load_definition(metric), load(metric, Path(data))
    sources = {row.source for row in rows.validation}
    training = kept.read(metric, rows.train[: SIZES[-1]], first=True)
    validation = kept.read(metric, rows.validation[:VALIDATED])
    test = kept.read(metric, [row for row in rows.test if row.source in sources][:TESTED])
    tested = [read.row for read in test]
    gold = flags_of(definition, tested)
    both = [place for place in range(gold.shape[1]) if len(np.unique(gold[:, place])) > 1]

    def auroc(probabilities):
        return np.mean([roc_auc_score(gold[:, place], probabilities[:, place]) for place in both])

    # Of a boolean metric one column says all; of others the decisions on all classes together.
    columns = both[:1] if definition.kind == "boolean" else both
    for size in (*(size for size in SIZES if size < len(rows.train)), len(rows.train)):
        found = {"TF-IDF": by_words(definition, rows.train[:size], tested)}
        if size <= len(training):
            head = fit_head(definition, kept.encoder, layers, training[:size], validation)
            found["head"] = score(definition, head, test)
        elif metric in heads_in(EMBEDDED):  # the shipped one, fitted to all rows
            found["head"] = score(definition, open_head(EMBEDDED, metric), test)
        shown = " / ".join(f"{name} {auroc(p):.3f}" for name, p in sorted(found.items(), reverse=True))
        print(f"{metric}, {size:,} rows, on {len(test):,}: {shown}", flush=True)
    curves = []
    for name, p in sorted(found.items(), reverse=True):
        x, y, _ = roc_curve(gold[:, columns].ravel(), p[:, columns].ravel())
        area = sum((b - a) * (low + high) / 2 for (a, low), (b, high) in pairwise(zip(x, y, strict=True)))
        places = np.unique(np.linspace(0, len(x) - 1, POINTS).astype(int))
        curves.append(Series(f"{name} ({area:.3f})", list(zip(x[places], y[places], strict=True)), ()))
    curves.append(Series("chance", [(0.0, 0.0), (1.0, 1.0)], ()))
    picture = draw(f"ROC: {metric}", AXES, curves, "", "in brackets the area")
    Path(__file__).with_name(f"{metric}.svg").write_text(picture, encoding="utf-8")
