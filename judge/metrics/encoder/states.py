"""The states of luna's encoder: its network, asked for more of its tensors.

The weights are luna's own file, byte for byte. That some inner tensors are outputs too is
appended to it: parts of one protocol buffer that follow each other are merged.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...backends.base import BackendError
from ...backends.encoder import Input
from ...backends.local import hash_files
from ...backends.onnx_encoder import MODEL, feed, open_session

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

        Raises:
            BackendError: the file is missing, cannot be loaded, or has no such tensors.
        """
        path = folder / MODEL
        if not path.is_file():
            raise BackendError(f"cannot read states: there is no {path}")
        outputs = b"".join(_field(_OUTPUT, _field(_NAME, name.encode())) for name in layers)
        self._session = open_session(path, path.read_bytes() + _field(_GRAPH, outputs), 1)
        self._names = [*layers, "claim_logit"]
        self.version = hash_files(path)

    def __call__(self, one: Input) -> States:
        """Read one input."""
        *layers, claims = self._session.run(self._names, feed(*one))
        return States(np.concatenate(layers), float(claims[0]))


def _field(number: int, content: bytes) -> bytes:
    """Write a field of bytes: number and wire type, length, content."""
    size, length = len(content), bytearray()
    while size >= 128:
        length.append(size % 128 + 128)
        size //= 128
    return bytes([number * 8 + 2, *length, size]) + content
