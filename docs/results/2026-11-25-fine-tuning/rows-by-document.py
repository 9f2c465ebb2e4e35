"""Draw rows whose documents several answers share, for a run on a CPU, which reads them once.

python rows-by-document.py TRAIN.jsonl TOKENIZER.json TOKENS [SHARES.json] > rows.jsonl

Of each document at most eight answers, as many FAIL as PASS where it has both; of each source by
its share of the tokens that are read.
"""

import json
import random
import sys
from collections import Counter, defaultdict
from pathlib import Path

from tokenizers import Tokenizer

SHARES = {
    **{"summedits": 9, "perturbed:summedits": 3, "frank": 16, "halueval": 4},
    **{"perturbed:halueval": 1, "perturbed:xquad_en": 7, "perturbed:fetaqa": 6},
    **{"perturbed:tatqa": 6, "perturbed:pubmedqa": 6, "built:pubmedQA": 8},
    **{"quintd-ice_hockey:pieces": 4, "ragtruth_train_part:pieces": 8, "ragtruth_train_part": 6},
    **{"perturbed:ragtruth_train_part": 3, "plain": 8, "factcg": 4, "fever-changed": 3},
    **{"factcheck-gpt": 3, "perturbed:e2e_cleaned": 2, "qa_feedback:pieces": 5},
    **{"removed:fetaqa": 2, "removed:xquad_en": 2},
}
SUFFIX = 51  # tokens of the prompt behind the answer, and of the reply
LONGEST = 720  # tokens of a question, its documents and the longest answer
OWN = 12  # tokens between a question and its documents

rows, name, tokens, *shares = sys.argv[1:]
if shares:
    SHARES = json.loads(Path(shares[0]).read_text(encoding="utf-8"))
tokenizer = Tokenizer.from_file(name)
draw = random.Random(53)


def count(text):
    return len(tokenizer.encode(text).ids)


def counted(rows):
    return sum(1 if row["label"] == "FAIL" else -1 for row in rows)


documents = defaultdict(lambda: defaultdict(list))
with open(rows, encoding="utf-8") as lines:
    for row in map(json.loads, lines):
        kind = row["provenance"]["file"]
        if kind in SHARES:
            documents[kind][row["question"], tuple(row["context"])].append(row)
chosen = []
for source, share in SHARES.items():
    groups = list(documents[source].items())
    draw.shuffle(groups)
    groups.sort(key=lambda group: -len({row["label"] for row in group[1]}))  # those with both first
    left, excess = int(tokens) * share / sum(SHARES.values()), 0
    for (question, context), answers in groups:
        draw.shuffle(answers)
        sides = [[row for row in answers if row["label"] == label] for label in ("PASS", "FAIL")]
        most = 4 if all(sides) else 2
        kept = sides[0][:most] + sides[1][:most]
        if not all(sides):  # one of them, where the other label is no rarer for it
            kept = kept[:1]
            if abs(excess + counted(kept)) > 2:
                continue
        document = count(question) + count("\n".join(context)) + OWN
        lengths = [count(row["answer"]) for row in kept]
        price = document + sum(lengths) + SUFFIX * len(kept)
        if document + max(lengths) > LONGEST or price > left + 60:
            continue
        excess += counted(kept)
        left -= price
        chosen += kept
        if left < 100:
            break
draw.shuffle(chosen)
for row in chosen:
    print(json.dumps(row, ensure_ascii=False))
print(Counter((row["provenance"]["file"], row["label"]) for row in chosen), file=sys.stderr)
