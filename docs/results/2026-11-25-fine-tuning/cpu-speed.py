"""Rows a second of training on a CPU, three ways over the same rows, in turn.

python cpu-speed.py RUN.yaml BASE ROWS.jsonl

TRL's loss over two rows at a time by chance; ours over the same; ours over eight by document.
"""

import json
import random
import sys
import tempfile
import time
from pathlib import Path

from trl.trainer.sft_trainer import SFTTrainer

from moonlynx.halubench.records import QARow
from moonlynx.recipes.chat.model import load_tokenizer
from moonlynx.recipes.chat.on_cpu import DocumentSampler
from moonlynx.recipes.chat.sft import arguments_of, build_trainer
from moonlynx.recipes.lynx.chats import fit
from moonlynx.recipes.lynx.settings import LynxRun
from moonlynx.recipes.runs import read_run

settings, base, rows = sys.argv[1:]
run = read_run(Path(settings), LynxRun).model_copy(update={"base": base})
tokenizer = load_tokenizer(run)
with open(rows, encoding="utf-8") as lines:
    chats = fit([QARow.model_validate(json.loads(line)) for line in lines], run, tokenizer).chats
arguments = arguments_of(run, Path(tempfile.mkdtemp()), measured=False, tracker="none")
trainer = build_trainer(run, tokenizer, chats, [], arguments)
ids = trainer.train_dataset["input_ids"]
documents = list(DocumentSampler(ids, 8, run.seed))[:24]
chance = random.Random(run.seed).sample(documents, len(documents))
causal = trainer.model.get_base_model()
ways = {
    "TRL, two by chance": (SFTTrainer, "sdpa", chance, 2),
    "ours, two by chance": (type(trainer), "moonlynx-tree", chance, 2),
    "ours, eight by document": (type(trainer), "moonlynx-tree", documents, 8),
}
taken = dict.fromkeys(ways, 0.0)
for turn in range(0, len(documents), 8):
    for name, (kind, attention, order, portion) in ways.items():
        causal.set_attn_implementation(attention)
        start = time.perf_counter()
        for first in range(turn, turn + 8, portion):
            places = order[first : first + portion]
            batch = trainer.data_collator([trainer.train_dataset[place] for place in places])
            kind.compute_loss(trainer, trainer.model, dict(batch)).backward()
        if turn:  # the first warms up
            taken[name] += time.perf_counter() - start
        print(turn, name, f"{time.perf_counter() - start:.1f} s", flush=True)
tokens = sum(len(ids[place]) for place in documents[8:])
print(len(documents) - 8, "rows,", tokens, "tokens with all that they share")
for name, seconds in taken.items():
    print(f"{name}: {seconds:.0f} s, {(len(documents) - 8) / seconds:.3f} rows a second")
