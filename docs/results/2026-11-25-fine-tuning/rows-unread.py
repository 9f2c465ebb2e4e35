"""Print the rows whose question and documents no run has read.

python rows-unread.py TRAIN.jsonl READ.jsonl... > unread.jsonl
"""

import json
import sys
from pathlib import Path


def lines(path):
    return [line for line in Path(path).read_text(encoding="utf-8").split("\n") if line]


def documents(line):
    row = json.loads(line)
    return row["question"], tuple(row["context"])


read = {documents(line) for path in sys.argv[2:] for line in lines(path)}
for line in lines(sys.argv[1]):
    if documents(line) not in read:
        print(line)
