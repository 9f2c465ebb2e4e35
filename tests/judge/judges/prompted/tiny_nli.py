"""Tiny models of entailment in the three forms that real ones come in.

The weights of the classifier and of HHEM are random. Those of the encoder-decoder are set by hand:
it says "1" where it reads the word "green", else "0".
"""

import json
from pathlib import Path
from typing import Any

WORDS = ("the", "bridge", "is", "green", "red", "old", "premise", "hypothesis", "0", "1")
LABELS = {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}
WINDOW = 64


def build_classifier(folder: Path, labels: dict[int, str] = LABELS) -> Path:
    """Write a BERT that classes pairs at random, but the same each time."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    _save_tokenizer(folder, "[CLS] $A [SEP] $B:1 [SEP]:1", "[CLS] $A [SEP]")
    config = BertConfig(
        vocab_size=len(_vocabulary()),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=WINDOW,
        initializer_range=0.5,
        id2label=labels,
        num_labels=len(labels),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def build_generator(folder: Path, *, random: bool = False) -> Path:
    """Write a T5 that says "1" where it reads "green" and else "0"; or one of random weights."""
    import torch
    from transformers import T5ForConditionalGeneration

    _save_tokenizer(folder, "$A $B [SEP]", "$A [SEP]")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = T5ForConditionalGeneration(_t5_config())
    if not random:
        with torch.no_grad():
            _wire(model, torch.eye(model.config.d_model))
    model.save_pretrained(folder)
    return folder


def _wire(model: Any, unit: Any) -> None:
    """Let nothing through but what cross-attention brings of "green" to the first token."""
    begin, green, end = unit[:3]
    for name, parameter in model.named_parameters():
        parameter.fill_(1.0 if "layer_norm" in name else 0.0)
    ids = {token: index for index, token in enumerate(_vocabulary())}
    table = model.shared.weight  # what is read and what is said share it
    table[ids["[PAD]"]] = begin
    table[ids["green"]] = green
    table[ids["0"]] = 40 * begin + 60 * end
    table[ids["1"]] = 38 * begin + 60 * end + 30 * green
    table[ids["[SEP]"]] = 200 * end
    model.lm_head.weight.copy_(table)
    brought = model.decoder.block[0].layer[1].EncDecAttention
    brought.v.weight.copy_(unit)
    brought.o.weight.copy_(unit)


def build_hhem(folder: Path) -> Path:
    """Write HHEM 2's files: weights under its own names, over a T5 that lies in `base`."""
    import torch
    from safetensors.torch import save_file
    from transformers import T5ForTokenClassification

    _save_tokenizer(folder / "base", "$A $B [SEP]", "$A [SEP]")
    config = _t5_config()
    config.save_pretrained(folder / "base")
    config.num_labels = 2
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = T5ForTokenClassification(config)
    state = {f"t5.{name}": value.clone() for name, value in model.state_dict().items()}
    state.pop("t5.transformer.encoder.embed_tokens.weight")
    save_file(state, folder / "model.safetensors")
    settings = {
        "model_type": "HHEMv2Config",
        "architectures": ["HHEMv2ForSequenceClassification"],
        "auto_map": {"AutoConfig": "configuration_hhem_v2.HHEMv2Config"},
        "foundation": str(folder / "base"),
    }
    (folder / "config.json").write_text(json.dumps(settings))
    return folder


def _vocabulary() -> list[str]:
    letters = [chr(code) for code in range(33, 127)]
    pieces = [f"##{letter}" for letter in letters]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    return list(dict.fromkeys([*special, *WORDS, *letters, *pieces]))


def _save_tokenizer(folder: Path, pair: str, single: str) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: index for index, token in enumerate(_vocabulary())}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    marks = [(mark, vocabulary[mark]) for mark in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single, pair, marks)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        eos_token="[SEP]",
        model_max_length=WINDOW,
    )
    fast.save_pretrained(folder)
    return fast


def _t5_config() -> Any:
    from transformers import T5Config

    vocabulary = _vocabulary()
    return T5Config(
        vocab_size=len(vocabulary),
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=1,
        num_heads=2,
        dropout_rate=0.0,
        pad_token_id=0,
        decoder_start_token_id=0,
        eos_token_id=vocabulary.index("[SEP]"),
    )
