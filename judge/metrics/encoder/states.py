"""The embedded encoder's states: the network that Luna judges with, asked for more of its tensors.

The weights are Luna's own file, byte for byte. That some of its inner tensors are outputs too is
appended to it: parts of one protocol buffer that follow each other are merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...backends.base import BackendError
from ...backends.encoder import Input, hash_files
from ...backends.onnx_encoder import MODEL

Floats = NDArray[np.float32]
_GRAPH = 7  # field of an ONNX model that holds its graph
_OUTPUT = 12  # field of a graph that holds an output
_NAME = 1  # field of an output that holds its name


class States(NamedTuple):
    """What the encoder makes of one input.

    Attributes:
        layers: states of every token, shape (layers, tokens, width).
        claim: logit of the claim's support, by Luna's own head.
    """

    layers: Floats
    claim: float


class StateEncoder:
    """Runs Luna's network, each input by itself and on one thread, so no input affects another."""

    def __init__(self, folder: Path, layers: Sequence[str]) -> None:
        """Load `model.onnx` from the folder.

        Args:
            folder: with Luna's weights, in ONNX form.
            layers: names of tensors in the network, each of shape (batch, tokens, width).

        Raises:
            BackendError: the file is missing, cannot be loaded, or has no such tensors.
        """
        import onnxruntime

        path = folder / MODEL
        options = onnxruntime.SessionOptions()
        options.enable_mem_pattern = False  # one would be kept for every length that is read
        options.intra_op_num_threads = 1
        options.log_severity_level = 4  # what fails is raised
        try:
            network = path.read_bytes() + _as_outputs(layers)
            self._session = onnxruntime.InferenceSession(
                network, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime's errors share no other base
            raise BackendError(f"cannot read states from {path}: {error}") from error
        self._names = [*layers, "claim_logit"]
        self.version = hash_files(path)

    def __call__(self, one: Input) -> States:
        """Read one input."""
        ids, types = one
        feed = {
            "input_ids": ids[None],
            "attention_mask": np.ones_like(ids)[None],
            "token_type_ids": types[None],
        }
        *layers, claims = self._session.run(self._names, feed)
        return States(np.concatenate(layers), float(claims[0]))


def _as_outputs(names: Sequence[str]) -> bytes:
    """Write a model whose graph has these outputs and nothing else."""
    outputs = b"".join(_field(_OUTPUT, _field(_NAME, name.encode())) for name in names)
    return _field(_GRAPH, outputs)


def _field(number: int, content: bytes) -> bytes:
    """Write a field of bytes: number and wire type, length, content."""
    size, length = len(content), bytearray()
    while size >= 128:
        length.append(size % 128 + 128)
        size //= 128
    return bytes([number * 8 + 2, *length, size]) + content
