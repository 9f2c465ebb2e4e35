"""A small decoder from scratch: a byte-level BPE and a Llama, learned from the available texts.

Where no pretrained decoder is available, it shows the whole path with learned weights instead of
random ones. What it reads in training are the texts of the metrics' training rows, the first half
of each as the user's turn and the rest as the answer; and over some of these rows the metrics' own
prompts, answered with the text that is judged. So it learns the language of the texts, the form of
the prompts, and that what is due at an answer's beginning follows from what precedes it; and
nothing of the labels, which is left to the heads.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from moonlynx.judge.contract.types import MoonlynxError, Record
from moonlynx.judge.files.atomic import written_whole
from moonlynx.judge.metrics.definition import load_definition
from moonlynx.judge.metrics.preflight import TokenMap
from moonlynx.judge.metrics.prompt import write

from ..runs import claim_folder
from ..small_llama import draw_model, learn_tokenizer
from .data import SETS, load
from .model import common_arguments, run_trainer
from .settings import Run

log = logging.getLogger(__name__)
BACKBONE, CHECKPOINTS, TRAINED = "backbone", "checkpoints", "trained.json"
_LOGGED = 10  # steps between two logged losses
_PROMPTED = 16  # of so many rows one is in its whole prompt


class TooLittleText(MoonlynxError, ValueError):
    """The chats fill no block."""


class Chat(NamedTuple):
    """A user's turn and what answers it; blank where nothing does."""

    asked: str
    answer: str


class Claim(Record):
    """What a run's folder is claimed for: the settings, and a hash of the chats."""

    run: Run
    chats: str


class Pretrained(NamedTuple):
    """What a run did: chats and tokens of one pass, steps, seconds since its last start.

    `weights` counts the model's parameters; losses are those logged, in nats a token.
    """

    chats: int
    tokens: int
    weights: int
    steps: int
    seconds: float
    losses: list[float]


def training_chats(root: Path, metrics: Sequence[str] = tuple(SETS)) -> list[Chat]:
    """Return chats of the texts of these metrics' training rows, each text once, sorted.

    Of every sixteenth row there is the whole prompt, with the tools that go with it, and of the
    others what is judged alone: most of a short text's prompt is the same for all rows, and tokens
    to train on are what a small machine has few of. No row for validation or testing is among them.
    """
    chats: set[Chat] = set()
    for name in metrics:
        definition = load_definition(name)
        words = dict(definition.answers)
        # The words themselves: this tokenizer is yet to be learned from what is written here.
        said = TokenMap(written=words, ids=dict.fromkeys(words, 0))
        for number, row in enumerate(load(name, root).train):
            one = row.input
            if number % _PROMPTED == 0:
                chats.add(Chat(write(definition, said, one), one.output or one.input))
            else:
                chats.update(map(halve, (one.input, one.output, *(one.context or ()))))
    return sorted(chat for chat in chats if chat.asked.strip())


def halve(text: str) -> Chat:
    """Split a text between two words near its middle; a single word is all asked."""
    words = text.split(" ")
    middle = (len(words) + 1) // 2
    return Chat(" ".join(words[:middle]), " ".join(words[middle:]))


def pretrain(run: Run, chats: Sequence[Chat], out: Path) -> Pretrained:
    """Learn a tokenizer and train a model on chats, resuming from the last checkpoint in `out`.

    The model goes to `out/backbone`.

    Raises:
        SettingsError: `out` holds another run.
        TooLittleText: the chats fill no block.
    """
    from transformers import Trainer, TrainingArguments

    assert run.pretrain is not None
    sizes = run.pretrain
    texts = [text for chat in chats for text in chat]
    claim_folder(out, Claim(run=run, chats=hashlib.sha256("\0".join(texts).encode()).hexdigest()))
    # There are signs for classes in any case where each digit is a token.
    tokenizer = learn_tokenizer(texts, sizes.vocabulary, single_digits=True)
    blocks = list(_blocks(tokenizer, chats, sizes.block))
    if not blocks:
        raise TooLittleText(
            f"{len(chats)} chats fill no block of {sizes.block} tokens; lower block"
        )
    model = draw_model(
        tokenizer,
        run.seed,
        vocab_size=len(tokenizer),
        hidden_size=sizes.hidden,
        intermediate_size=sizes.feed_forward,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads,
        num_key_value_heads=sizes.key_value_heads,
        max_position_embeddings=sizes.positions,
    )
    weights = sum(parameter.numel() for parameter in model.parameters())
    log.info("%d blocks of %d tokens, %d weights", len(blocks), sizes.block, weights)
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            **common_arguments(run, sizes, sizes.blocks_at_once, out / CHECKPOINTS, len(blocks)),
            lr_scheduler_type="cosine",
            save_steps=sizes.checkpoint_steps,
            logging_steps=_LOGGED,
        ),
        train_dataset=blocks,
        data_collator=_collate,
    )
    seconds = run_trainer(trainer, out / CHECKPOINTS)
    if not (out / BACKBONE).exists():
        with written_whole(out / BACKBONE) as draft:
            model.save_pretrained(draft)
            tokenizer.save_pretrained(draft)
    done = Pretrained(
        chats=len(chats),
        tokens=len(blocks) * sizes.block,
        weights=weights,
        steps=trainer.state.global_step,
        seconds=seconds,
        losses=[entry["loss"] for entry in trainer.state.log_history if "loss" in entry],
    )
    (out / TRAINED).write_text(json.dumps(done._asdict(), indent=2) + "\n", encoding="utf-8")
    return done


def _blocks(tokenizer: Any, chats: Sequence[Chat], size: int) -> Iterator[dict[str, list[int]]]:
    """Yield blocks of the chats strung together; what is left over is dropped."""
    rest: list[int] = []
    for asked, answer in chats:
        turns = [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]
        chat = tokenizer.apply_chat_template(turns, tokenize=False)
        rest += tokenizer(chat, add_special_tokens=False)["input_ids"]
        while len(rest) >= size:
            yield {"input_ids": rest[:size]}
            rest = rest[size:]


def _collate(blocks: Sequence[dict[str, list[int]]]) -> dict[str, Any]:
    import torch

    ids = torch.tensor([block["input_ids"] for block in blocks])
    return {"input_ids": ids, "labels": ids}
