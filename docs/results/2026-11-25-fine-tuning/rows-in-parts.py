"""Part rows by document: PART-1.jsonl until so many tokens are read, PART-2.jsonl the rest.

python rows-in-parts.py ROWS.jsonl TOKENIZER.json TOKENS PART
"""

import json
import random
import sys
from collections import defaultdict
from pathlib import Path

from tokenizers import Tokenizer

rows, name, tokens, part = sys.argv[1:]
tokenizer = Tokenizer.from_file(name)


def count(text):
    return len(tokenizer.encode(text).ids)


documents = defaultdict(list)
with open(rows, encoding="utf-8") as lines:
    for row in map(json.loads, lines):
        documents[row["question"], tuple(row["context"])].append(row)
groups = list(documents.items())
random.Random(61).shuffle(groups)
parts, read = ([], []), 0
for (question, context), answers in groups:
    which = read >= int(tokens)
    read += 110 + count(question) + count("\n".join(context))
    read += sum(count(row["answer"]) + 51 for row in answers)
    parts[which].extend(answers)
for number, kept in enumerate(parts):
    random.Random(number).shuffle(kept)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept)
    Path(f"{part}-{number + 1}.jsonl").write_text(text, encoding="utf-8")
