"""What the heads that ship score on the test rows that there were before the new ones.

python before.py DATA STATES     # STATES: a folder for what is read, or that of the run that fitted the heads
"""

import sys
from pathlib import Path

from moonlynx.judge.judges.luna.weights import open_weights
from moonlynx.judge.metrics.definition import load_definition
from moonlynx.judge.metrics.encoder import EMBEDDED
from moonlynx.judge.metrics.encoder.features import FeatureReader
from moonlynx.judge.metrics.encoder.head import open_head
from moonlynx.judge.metrics.encoder.states import StateEncoder
from moonlynx.recipes.luna2.data import load
from moonlynx.recipes.luna2.features import KeptFeatures, find_layers
from moonlynx.recipes.luna2.fit_heads import score
from moonlynx.recipes.luna2.measure import decide, measure, read_gold

NEW = ("written", "bfcl-near")
data, states = map(Path, sys.argv[1:])
weights = open_weights(None, None)
layers = find_layers(weights.path)
reader = FeatureReader(StateEncoder(weights.path, layers), weights.tokenizer)
kept = KeptFeatures(reader, layers, weights.tokenizer, states)
for name in ("toxicity", "sexism", "tool_selection_quality"):
    definition, head = load_definition(name), open_head(EMBEDDED, name)
    rows = [row for row in load(name, data).test if row.source not in NEW]
    read = kept.read(name, rows)
    found = score(definition, head, read)
    gold = read_gold([each.row for each in read], definition)
    print(name, len(read), measure(gold, (found, decide(definition, found, head.thresholds))))
