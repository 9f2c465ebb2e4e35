"""Tokens a second of training on a CPU: TRL's loss beside ours, on the same batches in turn.

python cpu-speed.py RUN.yaml BASE ROWS.jsonl
"""

import json
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from trl.trainer.sft_trainer import SFTTrainer

from moonlynx.halubench.records import QARow
from moonlynx.recipes.chat.model import load_tokenizer
from moonlynx.recipes.chat.sft import arguments_of, build_trainer
from moonlynx.recipes.lynx.chats import fit
from moonlynx.recipes.lynx.settings import LynxRun
from moonlynx.recipes.runs import read_run

settings, base, rows = sys.argv[1:]
run = read_run(Path(settings), LynxRun).model_copy(update={"base": base})
tokenizer = load_tokenizer(run)
with open(rows, encoding="utf-8") as lines:
    read = [QARow.model_validate(json.loads(line)) for line in islice(lines, 64)]
arguments = arguments_of(run, Path(tempfile.mkdtemp()), measured=False, tracker="none")
trainer = build_trainer(run, tokenizer, fit(read, run, tokenizer).chats, [], arguments)
kinds = {"TRL": SFTTrainer, "ours": type(trainer)}
taken = {name: [0, 0.0] for name in kinds}
for number, batch in enumerate(islice(trainer.get_train_dataloader(), 9)):
    for name, kind in kinds.items():
        start = time.perf_counter()
        loss = kind.compute_loss(trainer, trainer.model, dict(batch))
        loss.backward()
        if number:  # the first warms up
            taken[name][0] += int(batch["attention_mask"].sum())
            taken[name][1] += time.perf_counter() - start
        print(number, name, f"{loss.item():.4f}", flush=True)
for name, (tokens, seconds) in taken.items():
    print(name, f"{tokens} tokens, {tokens / seconds:.1f} a second")
