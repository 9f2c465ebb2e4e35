"""Heads on the tiny Llama with random adapters: large enough to change what it says."""

from moonlynx.judge.files.stored import save_record
from moonlynx.judge.metrics.adapter import (
    HEAD,
    Backbone,
    Head,
    Scaling,
    fingerprint,
    load_tokenizer,
)
from moonlynx.judge.metrics.definition import load_definition
from moonlynx.judge.metrics.prompt import Prompter


def build_head(folder, backbone, metric, seed, **fitted):
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    config = LoraConfig(
        r=16,
        lora_alpha=16,
        target_modules=["q_proj", "k_proj", "v_proj", "o_proj"],
        init_lora_weights=False,
        task_type="CAUSAL_LM",
    )
    model = AutoModelForCausalLM.from_pretrained(backbone, use_safetensors=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        get_peft_model(model, config).save_pretrained(folder, save_embedding_layers=False)
    (folder / "README.md").unlink()
    tokenizer = load_tokenizer(backbone)
    tokenizer.save_pretrained(folder)
    definition = load_definition(metric)
    head = Head(
        definition=definition,
        tokens=Prompter(definition, tokenizer).tokens,
        scaling=fitted.get("scaling", Scaling()),
        thresholds=fitted.get("thresholds", {}),
        backbone=Backbone(name=str(backbone), sha256=fingerprint(backbone)),
        version=f"seed-{seed}",
    )
    save_record(head, folder / HEAD)
    return folder
