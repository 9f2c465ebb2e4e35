"""Seconds of a text by one head and by all heads that read a text by itself; no torch.

python cost.py
"""

import time

import numpy as np

from moonlynx.judge.contract.types import MetricInput
from moonlynx.judge.metrics.encoder import heads_in
from moonlynx.judge.metrics.encoder.metric import EncoderMetric

WORDS = "The river rises in spring and the bridge is closed to lorries for some weeks each year".split()
heads = [each for each in map(EncoderMetric, heads_in()) if each.head.form == "text"]
rng = np.random.default_rng(0)
for words in (30, 500, 2_000):
    for asked in (heads[:1], heads):
        seconds = []
        for _ in range(10):
            text = MetricInput(input="", output=" ".join(rng.choice(WORDS, words)))
            started = time.perf_counter()
            for head in asked:
                head([text])
            seconds.append(time.perf_counter() - started)
        print(f"{words} words, {len(asked)} heads: {np.median(seconds):.4f} s")
