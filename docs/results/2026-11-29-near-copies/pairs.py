"""Count the pairs of which the rule says that the claim turns a sentence of its premise round.

    python pairs.py [--show] SET...     # sets of `moonlynx.recipes.data.pair_sets`, by MOONLYNX_DATA

Of each set at most 12,000 pairs, drawn by seed. `--show` prints those that are supported.
"""

import os
import random
import sys
from collections import Counter
from pathlib import Path

from moonlynx.judge.text import split_sentences
from moonlynx.judge.text.near_copies import find_changes
from moonlynx.recipes.data.exclusions import load_exclusions
from moonlynx.recipes.data.pair_sets import PAIR_SETS

MOST = 12_000


def turned(premise, claim):
    """Return what the claim turns round, as a judge finds it: no sentence may say it as it is."""
    found = [find_changes(sentence.text, claim) for sentence in split_sentences(premise)]
    return None if [] in found else next(filter(None, found), None)


def main(names, show):
    root = Path(os.environ["MOONLYNX_DATA"])
    exclusions = load_exclusions(root)
    for name in names:
        rng = random.Random(1)
        pairs = list(PAIR_SETS[name](root, exclusions, rng))
        rng.shuffle(pairs)
        read, fired = Counter(), Counter()
        for pair in pairs[:MOST]:
            premise = pair.premise if isinstance(pair.premise, str) else pair.premise()
            read[pair.label] += 1
            if changes := turned(premise, pair.claim):
                fired[pair.label] += 1
                fired[changes[0].kind] += 1
                if show and pair.label == "supported":
                    print(f"    {changes[0].kind}: {premise} | {pair.claim}")
        print(name, dict(read), dict(fired), flush=True)


main([name for name in sys.argv[1:] if name != "--show"], "--show" in sys.argv)
