"""Write Lynx's training rows: labelled answers of the mix `shipped`, changed ones in pairs, claims over passages.

    python more-rows.py DATA ENCODER TOKENIZER BUILT/train.jsonl TEST.jsonl... > train.jsonl

The encoder's tokenizer cuts claims, the chat model's counts tokens. Of each source about as many FAIL as PASS.
Rows that share 13 words in a row with a test row are left out, each with its counterpart.
"""

import hashlib
import json
import random
import sys
from collections import Counter
from pathlib import Path

from tokenizers import Tokenizer

from moonlynx.halubench.overlap import runs
from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.luna.weights import load_tokenizer
from moonlynx.judge.judges.lynx import build_prompt
from moonlynx.recipes.data.mixes import SOURCES, Mix
from moonlynx.recipes.data.passages import generate as generate_plain
from moonlynx.recipes.data.synthetic import HELD_OUT_SCHEMAS, generate
from moonlynx.recipes.data.validation import cut
from moonlynx.recipes.luna.changes import Changes, _claims
from moonlynx.recipes.luna.reader import Reader
from moonlynx.recipes.luna.settings import RECIPES, Run
from moonlynx.recipes.luna.stage_items import labelled_synthetic, load_pairs
from moonlynx.recipes.runs import read_run

OWN = "Apache-2.0, made here"
LONGEST = 1250  # tokens of the prompt
ANSWERS = {"ragtruth_train_part": 400, "qa_feedback": 300, "frank": 900, "summedits": 600, "halueval": 200, "e2e_cleaned": 200}
RECORDS = ("quintd-gsmarena", "quintd-ice_hockey", "quintd-openweather", "quintd-owid", "rotowire_accuracy")
RIGHT = ("pubmedqa", "covid_qa", "xquad_en", "tatqa", "fetaqa", "hotpot_slice")
PAIRS = {"fever": 700, "fever-changed": 500, "fool-me-twice": 700, "factcg": 600, "cf-snli": 500, "mnli": 600, "mnli-changed": 500, "infotabs": 700, "factcheck-gpt": 500, "scitail": 200}

data, built = Path(sys.argv[1]), Path(sys.argv[4])
encoder = load_tokenizer(Path(sys.argv[2]))
tokenizer = Tokenizer.from_file(sys.argv[3])
draw = random.Random(47)
run = read_run(RECIPES / "base-gpu.yaml", Run)
reader = Reader(encoder, run.limits, run.windows)
mix = Mix("shipped")
rows: list[dict] = []


def short(example: Example) -> bool:
    return bool(example.answer.strip()) and len(tokenizer.encode(build_prompt(example)).ids) <= LONGEST


def add(source: str, examples: list[tuple[Example, str]], most: int, licence: str) -> None:
    """Keep at most so many of either label, as many of one as of the other."""
    draw.shuffle(examples)
    sides = []
    for label in ("PASS", "FAIL"):
        side = []
        for example, own in examples:
            if own == label and len(side) < most and short(example):
                side.append(example)
        sides.append(side)
    count = min(map(len, sides))
    for label, side in zip(("PASS", "FAIL"), sides, strict=True):
        for number, example in enumerate(side[:count]):
            keep(source, example, label, number, licence)


def keep(kind: str, example: Example, label: str, number: int, licence: str) -> None:
    """Keep a row of a kind: a set, or `HOW:SET` or `SET:pieces` for what was made of one."""
    names = kind.split(":")
    source = names[0] if names[-1] == "pieces" else names[-1]
    licence = SOURCES[source].licence if source in SOURCES else licence
    text = json.dumps([example.question, list(example.context), example.answer], ensure_ascii=False)
    rows.append(
        {
            "id": f"{kind}/{label}/{number}",
            "source": source,
            "question": example.question,
            "context": list(example.context),
            "answer": example.answer,
            "label": label,
            "group": f"{kind}/{number}",
            "provenance": {"file": kind, "sha256": hashlib.sha256(text.encode()).hexdigest(), "row": str(example.id), "licence": licence},
        }
    )


# ---- answers that people labelled, whole; over records also pieces of them --------------------
given = {name: mix.training(name, data) for name in (*ANSWERS, *RECORDS)}
for name, most in ANSWERS.items():
    add(name, [(row.example, row.label) for row in given[name]], most, SOURCES[name].licence)
for name in ("ragtruth_train_part", "qa_feedback", *RECORDS):
    pieces = [row for row in given[name] if row.example.spans or row.label == "PASS"]
    add(f"{name}:pieces", [(row.example, row.label) for row in cut(pieces, draw)], 250, SOURCES[name].licence)

# ---- right answers, and the same answers or documents changed so that they disagree -----------
right = [row for name in RIGHT for row in mix.training_right(name, data)]
right += [row for rows_ in given.values() for row in rows_ if row.label == "PASS"]
changes = Changes(right, draw)
for kind, count in (("perturbed", 1500), ("removed", 500), ("shuffled", 100)):
    made = 0
    for example, claim in _claims(right, reader, draw, 8 * count):
        if made == count:
            break
        found = getattr(changes, kind)(example, claim)
        if found is None or not short(found[0]) or not short(found[1]):
            continue
        for side, label in zip(found[:2], ("PASS", "FAIL"), strict=True):
            keep(f"{kind}:{example.source}", side, label, made, "as of its source")
        made += 1

# ---- synthetic passages and records, and pairs of premise and claim ---------------------------
for number, pair in enumerate(generate_plain(900, 47)):
    for row in pair:
        keep("plain", row.example, row.label, number, OWN)
made_rows = [labelled_synthetic(row, n) for n, row in enumerate(generate(900, 47)) if row.schema not in HELD_OUT_SCHEMAS]
add("synthetic", [(row.example, row.label) for row in made_rows], 250, OWN)
items = load_pairs(data, PAIRS, 47)
for name, most in PAIRS.items():
    own = [item for item in items if item.source == name]
    pairs = [
        (Example(id=f"{name}/{n}", question=item.lead, context=item.premises, answer=item.claim), "PASS" if item.supported else "FAIL")
        for n, item in enumerate(own)
    ]
    add(name, pairs, most // 2, SOURCES[name.removesuffix("-changed")].licence if name.removesuffix("-changed") in SOURCES else "as of its source")

# ---- the benchmark builder's --------------------------------------------------------------------
if built.is_file():
    lines = [json.loads(line) for line in built.read_text(encoding="utf-8").split("\n") if line]
    for source in sorted({row["source"] for row in lines}):
        own = [(Example(id=row["id"], question=row["question"], context=tuple(row["context"]), answer=row["answer"]), row["label"]) for row in lines if row["source"] == source]
        licence = next(row["provenance"]["licence"] for row in lines if row["source"] == source)
        add(f"built:{source}", own, 250, licence)

# ---- without what the test rows say --------------------------------------------------------------


def texts(row: dict) -> list[str]:
    return [row.get("question") or "", *row["context"], row["answer"]]


tested: set[str] = set()
for path in sys.argv[5:]:
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            tested |= runs(texts(json.loads(line)))
leaking = {row["group"] for row in rows if runs(texts(row)) & tested}
seen: set[str] = set()
kept: Counter[str] = Counter()
draw.shuffle(rows)
for row in rows:
    if row["group"] not in leaking and row["provenance"]["sha256"] not in seen:
        seen.add(row["provenance"]["sha256"])
        kept[f"{row['provenance']['file']} {row['label']}"] += 1
        print(json.dumps(row, ensure_ascii=False))
print(kept.total(), sorted(kept.items()), file=sys.stderr)
