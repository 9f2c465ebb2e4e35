"""What a judge needs from an encoder with support heads, and how one is loaded.

A weights folder holds `model.onnx` (run by onnxruntime), or `config.json`, `model.safetensors` and
`heads.safetensors` (run by torch), or both.
"""

from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..contract.spec import SpecError

Input = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Token ids and token types (`TokenType`), each of shape (tokens,)."""


class TokenType(IntEnum):
    """What a token of an input is: the claim's from `CLAIM` on, new to the documents above it."""

    BEFORE = 0
    CLAIM = 1
    NEW_WORD = 2
    NEW_NAME = 3
    NEW_NUMBER = 4


class EncoderOutput(NamedTuple):
    """Logits of support for one input: higher means supported."""

    tokens: NDArray[np.float32]  # one for each input token, shape (tokens,)
    claim: float  # that of the claim, read from the first token's state
    # of a claim without support, that the documents contradict it; None where the weights have no
    # such head
    conflict: float | None = None


@runtime_checkable
class EncoderBackend(Protocol):
    """Reads inputs."""

    name: str
    version: str  # the start of the SHA-256 of the weights
    at_once: int  # inputs per call, as many as are no slower together than one by one

    def encode(self, inputs: Sequence[Input]) -> list[EncoderOutput]:
        """Read the inputs, in order; an output is bit-identical whatever else is read."""


def load_encoder(folder: Path, backend: str | None) -> EncoderBackend:
    """Load the encoder whose weights are in `folder`.

    Raises:
        SpecError: no such backend.
        MissingExtra: the backend's packages are missing.
        BackendError: the folder's weights cannot be loaded; says why.
    """
    if backend in (None, "onnx"):
        from .onnx_encoder import OnnxEncoder

        return OnnxEncoder(folder)
    if backend == "torch":
        from .torch_encoder import TorchEncoder

        return TorchEncoder(folder)
    raise SpecError(f"no encoder runs on {backend!r}; use onnx or torch")
