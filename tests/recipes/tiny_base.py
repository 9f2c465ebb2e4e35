"""A tiny BERT of random weights with a tokenizer of whole words and letters, to train from."""

from __future__ import annotations

import string

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from moonlynx.judge.judges.luna.inputs import Limits
from moonlynx.judge.judges.luna.weights import load_tokenizer
from moonlynx.recipes.luna.reader import Reader


def build_tokenizer(path, words=()):
    """Write a `tokenizer.json` that knows the words, and others by their letters."""
    letters = string.ascii_lowercase + string.digits + string.punctuation
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{c}" for c in letters)]
    vocabulary += [word for word in words if word not in vocabulary]
    numbered = {token: number for number, token in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(numbered, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.save(str(path))
    return load_tokenizer(path)


def build_reader(folder, *texts, limits=(120, 24, 40), windows=1):
    """Return a reader of answers, whose tokenizer knows the words of the texts."""
    words = {word.strip(".?,").lower() for text in texts for word in text.split()}
    tokenizer = build_tokenizer(folder / "tokenizer.json", sorted(words))
    return Reader(tokenizer, Limits(*limits), windows)


def build_base(folder, words=(), **settings):
    import torch
    from transformers import BertConfig, BertModel

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = build_tokenizer(folder / "tokenizer.json", words)
    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
    }
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=256, **sizes | settings
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        BertModel(config).save_pretrained(folder)
    return folder
