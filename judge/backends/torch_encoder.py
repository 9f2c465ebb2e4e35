"""An encoder with support heads in torch: the network that is trained, and a backend that runs it.

The network is a transformers encoder (`trunk`) with three linear heads: `tokens` reads every
token's state (Luna, eq. 2), `claim` and `conflict` the first token's. Weights are safetensors and
no code of the model's own is run.
"""

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .base import BackendError, MissingExtra
from .encoder import EncoderOutput, Input, TokenType
from .local import hash_files

Precision = Literal["fp32", "bf16", "fp16"]

TRUNK, HEADS = "model.safetensors", "heads.safetensors"
_PARTS = ("marks", "claim", "tokens", "conflict")  # beside the trunk
_DROPOUT = 0.1  # before both heads, in training
_STEP = 32  # batches on a GPU are a multiple of this many tokens wide
_ROWS = 32  # inputs in a batch on a GPU


def make_network(config: Any, pretrained: Path | None = None) -> Any:
    """Build the network, a `torch.nn.Module`, with new heads, in fp32.

    Its `forward(input_ids, attention_mask, token_type_ids)`, each (batch, tokens), returns
    `(token_logits, claim_logit, conflict_logit)`, (batch, tokens), (batch,) and (batch,). The last
    is that of a claim without support being contradicted, not merely not mentioned. `trunk` and
    the names in `_PARTS` are its parts. Token types (`TokenType`) are embeddings of their own,
    `marks`, which begin at zero and enter below layer `marks_layer`; a trunk that tells two parts
    apart by types is given those too.

    Args:
        config: a transformers configuration of the trunk; `marks_layer` in it is 0 by default.
        pretrained: a folder with a pre-trained trunk; None: a trunk of random weights.
    """
    import torch
    from transformers import AutoModel

    class Network(torch.nn.Module):  # type: ignore[misc]  # torch is not typed here
        def __init__(self) -> None:
            super().__init__()
            if pretrained is None:
                self.trunk = AutoModel.from_config(config)
            else:
                self.trunk = AutoModel.from_pretrained(
                    pretrained,
                    config=config,
                    dtype=torch.float32,
                    local_files_only=True,
                    trust_remote_code=False,
                    use_safetensors=True,
                )
            if hasattr(self.trunk, "pooler"):
                self.trunk.pooler = None  # neither head reads it
            self.marks = torch.nn.Embedding(len(TokenType), config.hidden_size)
            torch.nn.init.zeros_(self.marks.weight)
            self.dropout = torch.nn.Dropout(_DROPOUT)
            self.claim = torch.nn.Linear(config.hidden_size, 1)
            self.tokens = torch.nn.Linear(config.hidden_size, 1)
            self.conflict = torch.nn.Linear(config.hidden_size, 1)

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
            words = self.trunk.get_input_embeddings()(input_ids)
            marks = self.marks(token_type_ids).to(words.dtype)
            layer = getattr(self.trunk.config, "marks_layer", 0)
            inputs = {
                "inputs_embeds": words if layer else words + marks,
                "attention_mask": attention_mask,
            }
            if getattr(config, "type_vocab_size", 0) > 1:
                inputs["token_type_ids"] = token_type_ids.clamp(max=TokenType.CLAIM)
            with _added(self.trunk, layer, marks):
                states = self.trunk(**inputs).last_hidden_state.to(self.claim.weight.dtype)
            states = self.dropout(states)
            first = states[:, 0]
            return (
                self.tokens(states).squeeze(-1),
                self.claim(first).squeeze(-1),
                self.conflict(first).squeeze(-1),
            )

    return Network()


@contextmanager
def _added(trunk: Any, layer: int, marks: Any) -> Iterator[None]:
    """Add `marks` to what the trunk's layer of that number reads; layer 0 reads the inputs."""
    if not layer:
        yield
        return

    def add(_module: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return (inputs[0] + marks.to(inputs[0].dtype), *inputs[1:])

    hook = trunk.encoder.layer[layer].register_forward_pre_hook(add)
    try:
        yield
    finally:
        hook.remove()


def freeze(network: Any, layers: int) -> None:
    """Keep the word embeddings and the lowest layers as they are; token types enter above them.

    What lies below the first trained layer then needs no gradient at all. Of a network that was
    trained before, token types enter where they did then.

    Args:
        network: of `make_network`.
        layers: how many of `trunk.encoder.layer`; 0 trains everything.
    """
    if not layers:
        return
    trunk = network.trunk
    if not hasattr(trunk.config, "marks_layer"):
        trunk.config.marks_layer = layers
    trained = {id(parameter) for parameter in trunk.encoder.layer[layers:].parameters()}
    for parameter in trunk.parameters():
        parameter.requires_grad_(id(parameter) in trained)


def load_network(folder: Path) -> Any:
    """Load a network from `config.json`, `model.safetensors` and `heads.safetensors`, for reading.

    Raises:
        MissingExtra: torch or transformers is missing.
        BackendError: a file is missing, broken, or not of the shape that the configuration says.
    """
    try:
        from safetensors import SafetensorError
        from transformers import AutoConfig
    except ImportError as error:
        raise MissingExtra("an encoder on torch", "train") from error
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        network = make_network(config)
        load_weights(network, folder)
    except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
        raise BackendError(f"cannot load the encoder in {folder}: {error}") from error
    return network.eval()


def load_weights(network: Any, folder: Path) -> None:
    """Load the weights that `save_network` wrote into a network of the same shape."""
    from safetensors.torch import load_file

    network.trunk.load_state_dict(load_file(folder / TRUNK))
    heads = load_file(folder / HEADS)
    for name in _PARTS:
        part = getattr(network, name)
        part.load_state_dict({key: heads[f"{name}.{key}"] for key in part.state_dict()})


def save_network(network: Any, folder: Path) -> None:
    """Write the network so that `load_network` reads it; creates the folder if it is missing."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    network.trunk.config.save_pretrained(folder)
    heads = {
        f"{name}.{key}": tensor
        for name in _PARTS
        for key, tensor in getattr(network, name).state_dict().items()
    }
    for name, tensors in ((TRUNK, network.trunk.state_dict()), (HEADS, heads)):
        save_file({key: tensor.contiguous() for key, tensor in tensors.items()}, folder / name)


class TorchEncoder:
    """Runs a network in torch.

    On the CPU each input is run by itself. On a GPU inputs are run in batches of one fixed shape,
    filled up where inputs are missing. So no output depends on what is read beside it.
    """

    name = "torch"

    def __init__(
        self, folder: Path, *, device: str | None = None, precision: Precision = "fp32"
    ) -> None:
        """Load the network of a folder; without a device on a GPU where there is one.

        The trunk runs in `precision`, the heads in fp32.

        Raises:
            MissingExtra: torch or transformers is missing.
            BackendError: the network cannot be loaded.
        """
        self._network = load_network(folder)
        import torch

        self._torch = torch
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.at_once = 1 if self._device == "cpu" else _ROWS
        dtypes = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
        try:
            self._network.to(self._device)
        except (RuntimeError, AssertionError) as error:
            raise BackendError(f"cannot run on {self._device}: {error}") from error
        self._network.trunk.to(dtypes[precision])
        self._lock = threading.Lock()
        self.version = hash_files(folder / TRUNK, folder / HEADS)

    def encode(self, inputs: Sequence[Input]) -> list[EncoderOutput]:
        """Read the inputs, in order."""
        rows, step = self.at_once, 1 if self._device == "cpu" else _STEP
        by_width = defaultdict(list)
        for index, (ids, _) in enumerate(inputs):
            by_width[-(-len(ids) // step) * step].append(index)
        outputs: dict[int, EncoderOutput] = {}
        for width, indices in by_width.items():
            for start in range(0, len(indices), rows):
                batch = indices[start : start + rows]
                outputs |= zip(
                    batch, self._run([inputs[index] for index in batch], rows, width), strict=True
                )
        return [outputs[index] for index in range(len(inputs))]

    def _run(self, batch: Sequence[Input], rows: int, width: int) -> list[EncoderOutput]:
        """Run one batch, padded on the right and filled up with its first input."""
        ids, mask, types = np.zeros((3, rows, width), dtype=np.int64)
        for row in range(rows):
            own_ids, own_types = batch[row] if row < len(batch) else batch[0]
            ids[row, : len(own_ids)] = own_ids
            mask[row, : len(own_ids)] = 1
            types[row, : len(own_types)] = own_types
        torch = self._torch
        with self._lock, torch.inference_mode():
            tensors = (torch.from_numpy(array).to(self._device) for array in (ids, mask, types))
            tokens, claims, conflicts = (logits.cpu().numpy() for logits in self._network(*tensors))
        return [
            EncoderOutput(tokens[row, : len(own)], float(claims[row]), float(conflicts[row]))
            for row, (own, _) in enumerate(batch)
        ]
