"""A tiny Llama with random weights: every part of a real one, at a hundred-thousandth of the size.

Its tokenizer is a byte-level BPE learnt from the few lines below, its chat template Llama 3's. The
rows of its output layer for special tokens and for parts of characters are zero, so that greedy
replies are whole text.
"""

from __future__ import annotations

from pathlib import Path

POSITIONS = 4096
VOCABULARY = 512
SPECIAL = (
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
)
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "<|start_header_id|>{{ message['role'] }}<|end_header_id|>\n\n"
    "{{ message['content'] | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
TEXT = """Given the following question, document and answer, say whether the answer is faithful to
the document. The answer must not offer new information beyond the context given in the document.
{"REASONING": ["The answer is supported by the document.", "It says the same."], "SCORE": "PASS"}
{"REASONING": ["The document says nothing of the kind.", "The year is wrong."], "SCORE": "FAIL"}
The river rises in the northern hills and reaches the sea after four hundred kilometres.
Is the bridge older than the tower? The bridge was finished in 1894, the tower nine years later.
The passage does not say how many people live in the town, only that the harbour was closed.
"""


def build_tiny_llama(folder: Path) -> Path:
    _build_tokenizer().save_pretrained(folder)
    _build_model().save_pretrained(folder, safe_serialization=True)
    return folder


def _build_tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT.splitlines(keepends=True), trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|begin_of_text|>", eos_token="<|eot_id|>"
    )
    fast.chat_template = TEMPLATE
    return fast


def _build_model():
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = _build_tokenizer()
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=POSITIONS,
        initializer_range=0.3,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        dtype="float32",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = LlamaForCausalLM(config)
    unreadable = [
        index
        for index in range(VOCABULARY)
        if index != tokenizer.eos_token_id
        and not tokenizer.decode([index], skip_special_tokens=True).strip("\ufffd")
    ]
    with torch.no_grad():
        model.lm_head.weight[unreadable] = 0.0
    return model
