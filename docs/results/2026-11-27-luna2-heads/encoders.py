"""Heads on two encoders, by AUROC on validation rows: which encoder the heads are fitted on.

python encoders.py DATA STATES METRIC...     # DATA: the open sets; STATES: a folder that keeps what was read
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from moonlynx.judge.judges.luna.weights import MINI, open_weights
from moonlynx.judge.metrics.definition import load_definition
from moonlynx.judge.metrics.encoder.features import FeatureReader
from moonlynx.judge.metrics.encoder.states import StateEncoder
from moonlynx.recipes.luna2.data import load
from moonlynx.recipes.luna2.features import KeptFeatures, find_layers
from moonlynx.recipes.luna2.fit_heads import fit_head, score
from moonlynx.recipes.luna2.measure import flags_of

TRAINING, VALIDATION = 2_000, 1_000
data, states, *metrics = sys.argv[1:]
readers = {}
for model in (MINI, None):
    weights = open_weights(model, None)
    layers = find_layers(weights.path)
    reader = FeatureReader(StateEncoder(weights.path, layers), weights.tokenizer)
    readers[model or "luna"] = KeptFeatures(reader, layers, weights.tokenizer, Path(states))
for metric in metrics:
    definition, rows = load_definition(metric), load(metric, Path(data))
    for model, kept in readers.items():
        training = kept.read(metric, rows.train[:TRAINING], first=True)
        validation = kept.read(metric, rows.validation[:VALIDATION])
        head = fit_head(definition, kept.encoder, kept.layers, training, validation)
        found = score(definition, head, validation)
        gold = flags_of(definition, [read.row for read in validation])
        both = [place for place in range(gold.shape[1]) if len(np.unique(gold[:, place])) > 1]
        auroc = np.mean([roc_auc_score(gold[:, place], found[:, place]) for place in both])
        print(f"{metric} {model}: AUROC {auroc:.4f}, {len(training)} and {len(validation)} rows", flush=True)
