"""A Llama from scratch, in the form of Llama 3's: a tokenizer learned from texts, drawn weights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_BEGIN, _END, _END_OF_TURN = "<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"
_HEADER, _END_OF_HEADER = "<|start_header_id|>", "<|end_header_id|>"
_PAD = "<|finetune_right_pad_id|>"
_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    f"{_HEADER}{{{{ message['role'] }}}}{_END_OF_HEADER}\n\n"
    f"{{{{ message['content'] | trim }}}}{_END_OF_TURN}{{% endfor %}}"
    f"{{% if add_generation_prompt %}}{_HEADER}assistant{_END_OF_HEADER}\n\n{{% endif %}}"
)


def learn_tokenizer(texts: Iterable[str], vocabulary: int, *, single_digits: bool = False) -> Any:
    """Learn a byte-level BPE of at most so many tokens, with Llama 3's chat template.

    With `single_digits`, numbers are split so that there is a token for each digit.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    split = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = (
        pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), split])
        if single_digits
        else split
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[_BEGIN, _END, _END_OF_TURN, _HEADER, _END_OF_HEADER, _PAD],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=_BEGIN,
        eos_token=_END_OF_TURN,
        pad_token=_PAD,
        chat_template=_TEMPLATE,
    )


def draw_model(tokenizer: Any, seed: int, **sizes: int) -> Any:
    """Draw a Llama's weights, the same for the same seed; `sizes` are fields of its config."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        **sizes,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)
