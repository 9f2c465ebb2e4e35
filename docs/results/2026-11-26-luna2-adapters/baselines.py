"""What words and the majority reach on the adapters' rows: the first 400 test rows.

python baselines.py DATA METRIC... > baselines.json
"""

import json
import sys
from pathlib import Path

from moonlynx.judge.metrics.definition import load_definition
from moonlynx.recipes.luna2.baselines import by_words, majority
from moonlynx.recipes.luna2.data import cap, load
from moonlynx.recipes.luna2.measure import decide, fit_thresholds, measure, read_gold

MOST, TESTED = 800, 400
found = {}
for name in sys.argv[2:]:
    definition = load_definition(name)
    everything = load(name, Path(sys.argv[1]))
    few, rows = cap(everything, MOST), everything.test[:TESTED]
    gold = read_gold(rows, definition)
    found[name] = {"rows": len(rows), "training": len(everything.train)}
    for label, fit, splits in (
        ("majority", majority, few),
        ("words", by_words, few),
        ("words, all rows", by_words, everything),
    ):
        probabilities = fit(definition, splits.train, [*splits.validation, *rows])
        thresholds = fit_thresholds(
            definition,
            read_gold(splits.validation, definition).flags,
            probabilities[: len(splits.validation)],
        )
        said = probabilities[len(splits.validation) :]
        found[name][label] = measure(gold, (said, decide(definition, said, thresholds)))
        print(name, label, found[name][label], file=sys.stderr, flush=True)
print(json.dumps(found, indent=2))
