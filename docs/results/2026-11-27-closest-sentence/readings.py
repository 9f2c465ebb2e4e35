"""Read each claim of labelled rows twice, beside its window and beside its closest sentence alone.

    python readings.py write ROWS.jsonl READINGS.json     # or `validation` with MOONLYNX_DATA in place of ROWS
    python readings.py compare READINGS.json [WEIGHT]

The second prints AUROC by source without and with the closest sentence, and the difference with a
95 % interval (bootstrap over documents). It leaves out `luna`'s checks of citations and refusals.
"""

import json
import os
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from moonlynx.eval.metrics import auroc
from moonlynx.judge.backends.encoder import load_encoder
from moonlynx.judge.contract.steps import finish
from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.luna.aggregate import ClaimSupport, answer_score, blend
from moonlynx.judge.judges.luna.judge import LunaJudge
from moonlynx.judge.judges.luna.weights import open_weights
from moonlynx.recipes.data.mixes import Mix
from moonlynx.recipes.data.validation import calibration_rows, validation_rows

RESAMPLES = 500


def read_rows(name):
    """Yield source, example, label and document of each row."""
    if name != "validation":
        for line in Path(name).read_text(encoding="utf-8").splitlines():
            example = Example.from_row(json.loads(line))
            yield example.source, example, example.label, example.id
        return
    mix, data, known = Mix("shipped"), Path(os.environ["MOONLYNX_DATA"]), set()
    named = [*validation_rows(mix, data).items()]
    named.append(("pieces", calibration_rows(mix, data)))
    named.append(("summedits, others", mix.validation(data)["summedits"]))
    for source, answers in named:
        for answer in answers:
            if answer.example.id not in known:
                known.add(answer.example.id)
                yield source, answer.example, answer.label, answer.group


def write(rows, path):
    weights = open_weights(None, None)
    config = weights.config.model_copy(update={"closest": 1.0})
    judge = LunaJudge(load_encoder(weights.path, None), weights.tokenizer, config)
    found = []
    for source, example, label, document in rows:
        claims = []
        for claim in finish(judge.read(example)):
            if not claim.windows:
                continue
            readings = [judge._reading(claim, window) for window in claim.read]
            outputs = judge._encoder.encode([(one.ids, one.types) for one in readings])
            pairs = [*zip(readings, outputs, strict=True)]
            first = judge._join(pairs[: len(claim.windows)]).support
            closest = claim.closest and [judge._join(pairs[-1:]).support, claim.closest.share]
            claims.append([first, closest])
        found.append([source, label, document, claims])
    Path(path).write_text(json.dumps(found), encoding="utf-8")


def score(claims, weight, form):
    scores = []
    for support, closest in claims:
        if closest is not None:
            alone, share = closest
            pair = (ClaimSupport(each, np.empty(0), 0) for each in (support, alone))
            support = blend(*pair, weight * share).support
        scores.append(1 - support)
    return answer_score(scores, form)


def compare(path, weight):
    rows = json.loads(Path(path).read_text(encoding="utf-8"))
    form = open_weights(None, None).config.answer
    wrong = np.array([label == "FAIL" for _, label, *_ in rows])
    raw = [np.array([score(row[-1], each, form) for row in rows]) for each in (0.0, weight)]
    places = defaultdict(list)
    for index, (source, *_) in enumerate(rows):
        places[source].append(index)
    for source, chosen in [*places.items(), ("all", range(len(rows)))]:
        of = defaultdict(list)
        for index in chosen:
            of[rows[index][2]].append(index)
        documents, rng, drawn = [*of.values()], np.random.default_rng(0), []

        def gain(picked):
            return 100 * (
                auroc(wrong[picked].tolist(), raw[1][picked].tolist())
                - auroc(wrong[picked].tolist(), raw[0][picked].tolist())
            )

        if not 0 < wrong[list(chosen)].mean() < 1:
            continue
        for _ in range(RESAMPLES):
            lots = rng.integers(0, len(documents), len(documents))
            picked = np.array([index for lot in lots for index in documents[lot]])
            if 0 < wrong[picked].mean() < 1:
                drawn.append(gain(picked))
        both = [
            100 * auroc(wrong[list(chosen)].tolist(), each[list(chosen)].tolist()) for each in raw
        ]
        low, high = np.percentile(drawn, [2.5, 97.5])
        print(
            f"{source}: {len(chosen)} rows, {both[0]:.1f}, {both[1]:.1f}: {both[1] - both[0]:+.2f} [{low:.2f}, {high:.2f}]"
        )


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(read_rows(sys.argv[2]), sys.argv[3])
    else:
        compare(sys.argv[2], float(sys.argv[3]) if len(sys.argv) > 3 else 0.6)
