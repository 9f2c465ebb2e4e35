"""A Llama of 2.6 million random weights: every part of a real one, small enough to train on a CPU.

It knows nothing, so all that it says after training it learned there. Its tokenizer is a byte-level
BPE learned from the rows that it is to be trained on, its chat template in the form of Llama 3's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from moonlynx.halubench.records import QARow
from moonlynx.judge.files.atomic import written_whole

from ...small_llama import draw_model, learn_tokenizer
from ..chats import chat_of

POSITIONS = 1024
_VOCABULARY = 2048


def build_base(rows: Sequence[QARow], folder: Path, seed: int) -> int:
    """Write model and tokenizer to a new folder, whole or not at all; return the number of weights.

    The tokenizer is learned from the rows' chats. The same rows and seed give the same files.

    Raises:
        BadInput: a row has no label or no reasoning.
    """
    texts = [
        message["content"] for row in rows for part in chat_of(row).values() for message in part
    ]
    tokenizer = learn_tokenizer(texts, _VOCABULARY)
    model = draw_model(
        tokenizer,
        seed,
        vocab_size=_VOCABULARY,
        hidden_size=256,
        intermediate_size=640,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=POSITIONS,
    )
    with written_whole(folder) as draft:
        tokenizer.save_pretrained(draft)
        model.save_pretrained(draft)
    return sum(parameter.numel() for parameter in model.parameters())
