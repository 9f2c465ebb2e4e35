"""What the estimate says of activations, held against the tensors of real training steps."""

import weakref
from itertools import product

import pytest

from moonlynx.recipes.chat import model
from moonlynx.recipes.chat.estimate import estimate, read_shape
from moonlynx.recipes.chat.model import load_tokenizer
from moonlynx.recipes.chat.sft import arguments_of, build_trainer
from moonlynx.recipes.lynx.chats import fit
from moonlynx.recipes.lynx.settings import LynxRun

from .test_lynx import LORA, TINY, row

pytestmark = pytest.mark.heavy

HIDDEN, INTERMEDIATE = 128, 448  # in the proportion of Llama 3's


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    """Return the folders of a shallow and a deep model, by number of layers."""
    from transformers import LlamaConfig, LlamaForCausalLM

    from ...tiny_llama import build_tiny_llama

    folders = {}
    for layers in (1, 5):
        folders[layers] = build_tiny_llama(tmp_path_factory.mktemp(f"layers-{layers}"))
        config = LlamaConfig(
            vocab_size=512,
            hidden_size=HIDDEN,
            intermediate_size=INTERMEDIATE,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=1,
            max_position_embeddings=4096,
        )
        LlamaForCausalLM(config).save_pretrained(folders[layers])
    return folders


def most_held(base, tmp_path, **changes):
    """Train a step on one row; give the most bytes that tensors made in it held, and the estimate.

    What was there before, weights and optimiser, is not counted.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_iter
    from transformers import TrainerCallback

    class Held(TorchDispatchMode):
        def __init__(self, there):
            super().__init__()
            self.now = self.most = 0
            self.known = {tensor.untyped_storage()._cdata for tensor in there}

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            for tensor in tree_iter(out):
                if isinstance(tensor, torch.Tensor):
                    self.count(tensor.untyped_storage())
            return out

        def count(self, storage):
            if storage._cdata not in self.known:
                self.known.add(storage._cdata)
                self.now += storage.nbytes()
                self.most = max(self.most, self.now)
                weakref.finalize(storage, self.forget, storage._cdata, storage.nbytes())

        def forget(self, key, size):
            self.known.discard(key)
            self.now -= size

    class Watch(TrainerCallback):
        def on_step_begin(self, *args, model, **kwargs):
            self.held = Held([*model.parameters(), *model.buffers()])
            self.held.__enter__()

        def on_pre_optimizer_step(self, *args, **kwargs):
            self.held.__exit__(None, None, None)

    settings = {"batch": 1, "rows_at_once": 1, "epochs": 1, "warmup_steps": 0, "base": str(base)}
    # A GPU's memory is estimated, so this is a GPU's trainer, if on a CPU.
    hardware = TINY["hardware"] | {"gpus": 1}
    run = LynxRun.model_validate(TINY | settings | changes | {"hardware": hardware})
    tokenizer = load_tokenizer(run)
    fitting = fit([row(1, words=60)], run, tokenizer)
    arguments = arguments_of(run, tmp_path, measured=False, tracker="none")
    arguments |= {"save_strategy": "no", "use_cpu": True}
    trainer = build_trainer(run, tokenizer, fitting.chats, [], arguments)
    watch = Watch()
    trainer.add_callback(watch)
    trainer.train()
    estimated = estimate(run, read_shape(run), fitting.lengths)
    return watch.held.most, estimated.activations * 1e9


FEW = {("full", "fp32", False), ("lora", "bf16", True)}  # those of `make test`
EVERY = [
    pytest.param(*one, marks=() if one in FEW else pytest.mark.slow)
    for one in product(("full", "lora"), ("fp32", "bf16"), (False, True))
]


@pytest.mark.parametrize(("method", "precision", "checkpointing"), EVERY)
def test_a_layer_keeps_what_is_estimated(
    bases, tmp_path, monkeypatch, method, precision, checkpointing
):
    monkeypatch.setattr(model, "half_is_slow", lambda: False)  # slow or not, it is bf16's memory
    changes = {
        "method": method,
        "lora": LORA if method == "lora" else None,
        "precision": precision,
        "checkpointing": checkpointing,
    }
    shallow, deep = (most_held(bases[layers], tmp_path, **changes) for layers in (1, 5))
    measured, estimated = ((deep[which] - shallow[which]) / 4 for which in (0, 1))
    # Adapters keep a little less: weights that are not trained need no inputs.
    assert estimated == pytest.approx(measured, rel=0.02 if checkpointing else 0.15)
