"""Draw the short rows of a run on a CPU, as many PASS as FAIL of each source.

python short-rows.py TRAIN.jsonl TOKENIZER_FOLDER > rows.jsonl
"""

import json
import random
import sys
from collections import defaultdict

from transformers import AutoTokenizer

from moonlynx.halubench.records import QARow
from moonlynx.recipes.lynx.chats import chat_of

ANSWERS = {  # of several sentences: longer rows, fewer of a source
    *("built:RAGTruth", "built:covidQA", "built:pubmedQA", "frank", "summedits", "qa_feedback"),
    *("qa_feedback:pieces", "ragtruth_train_part", "ragtruth_train_part:pieces"),
    *("perturbed:fetaqa", "perturbed:pubmedqa", "perturbed:ragtruth_train_part"),
    *("perturbed:summedits", "perturbed:tatqa", "perturbed:xquad_en"),
    *("removed:ragtruth_train_part", "removed:summedits"),
}
MOST = {  # rows of each label, where not 14 (12 of answers)
    **{"cf-snli": 12, "scitail": 12, "mnli-changed": 13},
    **{"mnli": 16, "fever": 18, "fool-me-twice": 18, "factcg": 18, "factcheck-gpt": 18},
    **{"plain": 34, "synthetic": 0, "e2e_cleaned": 25, "perturbed:e2e_cleaned": 25},
    "quintd-ice_hockey:pieces": 15,
}

with open(sys.argv[1], encoding="utf-8") as lines:
    rows = [json.loads(line) for line in lines]
tokenizer = AutoTokenizer.from_pretrained(sys.argv[2])
kinds = defaultdict(list)
for row in rows:
    chat = chat_of(QARow.model_validate(row), "score")
    text = tokenizer.apply_chat_template(chat["prompt"] + chat["completion"], tokenize=False)
    if len(tokenizer(text)["input_ids"]) <= (480 if row["provenance"]["file"] in ANSWERS else 400):
        kinds[row["provenance"]["file"], row["label"]].append(row)
rng = random.Random(31)
drawn = []
for source in sorted({row["provenance"]["file"] for row in rows}):
    passes, fails = kinds[source, "PASS"], kinds[source, "FAIL"]
    rng.shuffle(passes)
    rng.shuffle(fails)
    count = min(len(passes), len(fails), MOST.get(source, 12 if source in ANSWERS else 14))
    drawn += passes[:count] + fails[:count]
rng.shuffle(drawn)
for row in drawn[:640]:
    print(json.dumps(row, ensure_ascii=False))
