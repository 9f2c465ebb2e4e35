"""A trained chat model as GGUF files, which llama.cpp opens and which judge as the model does."""

import json
import shutil

import pytest

from moonlynx import load_judge
from moonlynx.eval.benchmarks.base import read_file
from moonlynx.judge.backends.base import ChatRequest
from moonlynx.judge.backends.chat import load_chat_backend
from moonlynx.judge.contract.types import Turn
from moonlynx.recipes.lynx.settings import LynxRun
from moonlynx.recipes.lynx.sft import train

from ..cases import write_lines
from ..command import moonlynx, succeed
from .lynx.test_lynx import LORA, ROWS, TINY

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module", autouse=True)
def packages():
    for package in ("xllamacpp", "gguf"):
        pytest.importorskip(package, reason=f"needs {package}: tests/requirements-optional.txt")


def build_network(folder, kind, **changes):
    """Put a network of rows of 256 weights, which K-quants need, in the tiny Llama's place."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    shape = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 3}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096}
    config = AutoConfig.for_model(kind, vocab_size=512, **shape, **heads, **changes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        network = AutoModelForCausalLM.from_config(config)
        for each in network.parameters():
            torch.nn.init.normal_(each, std=0.05 if each.ndim > 1 else 0.3)
    network.save_pretrained(folder)


QWEN_CUT = r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+"
SCALED = {"rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0, "low_freq_factor": 1.0}
SCALED |= {"high_freq_factor": 4.0, "original_max_position_embeddings": 256}


def test_a_tuned_adapter_judges_the_same_as_a_file(tiny_llama, tmp_path):
    run = {"base": str(tiny_llama), "method": "lora", "lora": LORA, "learning_rate": 3e-2}
    train(LynxRun.model_validate(TINY | run | {"reply": "score"}), ROWS, [], tmp_path / "tuned")
    path = tmp_path / "tuned" / "tuned-q8_0.gguf"
    said = succeed("export", "gguf", tmp_path / "tuned", "--type", "q8_0")
    assert f"{path}: " in said
    rows = write_lines(tmp_path / "rows.jsonl", *ROWS)
    asked = [row.example for row in read_file(rows).rows]
    tuned = load_judge(f"lynx:{tmp_path}/tuned/model@transformers?load=fp32&reply=score")(asked)
    judged = load_judge(f"lynx:{path}@llamacpp?threads=1&reply=score")(asked)
    assert [one.score for one in judged] == [one.score for one in tuned]
    differences = [abs(a.raw_score - b.raw_score) for a, b in zip(judged, tuned, strict=True)]
    assert max(differences) < 0.3, "eight bits instead of 32"


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("qwen2", {"tie_word_embeddings": True}),
        ("llama", {"rope_parameters": SCALED}),
    ],
)
def test_files_of_all_kinds_say_what_the_network_says(kind, changes, tiny_llama, tmp_path):
    folder = shutil.copytree(tiny_llama, tmp_path / "model")
    build_network(folder, kind, **changes)
    if kind == "qwen2":
        parts = json.loads((folder / "tokenizer.json").read_text())
        split = {"type": "Split", "pattern": {"Regex": QWEN_CUT}, "behavior": "Isolated"}
        bytes_ = parts["pre_tokenizer"] | {"use_regex": False}
        both = [split | {"invert": False}, bytes_]
        parts["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": both}
        (folder / "tokenizer.json").write_text(json.dumps(parts))
    succeed("export", "gguf", folder, "--output", tmp_path / "files")
    exact = first_token("transformers", folder, load="fp32")
    sizes = []
    for quantised, bound in (("q8_0", 0.05), ("q5_k_m", 0.3), ("q4_k_m", 0.6)):
        path = tmp_path / "files" / f"model-{quantised}.gguf"
        sizes.append(path.stat().st_size)
        found = first_token("llamacpp", path, threads="1")
        shared = exact.keys() & found.keys()
        assert len(shared) > 5
        assert max(abs(exact[token] - found[token]) for token in shared) < bound, quantised
    assert sizes == sorted(sizes, reverse=True)


def first_token(backend, model, **options):
    """Return the logprobs of what could be said first after a text longer than the old context."""
    turn = Turn(role="user", content="In 1894 the river's bridge rose 12 m. " * 20)
    request = ChatRequest((turn,), max_tokens=1, logprobs=True)
    (reply,) = load_chat_backend(backend, str(model), options).complete([request])
    assert reply.error is None, reply.error
    return dict(reply.tokens[0].top)


def test_a_model_that_is_not_exported_says_why(tiny_llama, tmp_path):
    folder = shutil.copytree(tiny_llama, tmp_path / "model")
    build_network(folder, "mistral")
    said = moonlynx("export", "gguf", folder)
    assert "models of type mistral are not exported" in str(said.exception)
    assert not list(folder.glob("*.gguf"))
