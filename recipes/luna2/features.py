"""What heads on the encoder are fitted to: each window read once and kept."""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from moonlynx.judge.backends.onnx_encoder import MODEL
from moonlynx.judge.contract.types import JudgeError
from moonlynx.judge.files.atomic import written_whole
from moonlynx.judge.metrics.definition import load_definition
from moonlynx.judge.metrics.encoder.features import FeatureReader
from moonlynx.judge.metrics.encoder.parts import Form, Part, read_parts

from .data import LabelledInput

FORMS: Mapping[str, Form] = {
    "answer_relevance": "answer",
    "context_relevance": "documents",
    "tool_selection_quality": "tools",
    "pii": "text",
    "toxicity": "text",
    "sexism": "text",
    "prompt_injection": "text",
    "tone": "text",
}
"""The metrics that are given a head, and what it reads."""

Floats = NDArray[np.float32]
_LAYERS = 2  # every second layer of the encoder, the embeddings and the last among them
_TOLD = 200  # windows between two lines of the log
_log = logging.getLogger(__name__)


class Read(NamedTuple):
    """A row, its windows, and the numbers of each, shape (windows, numbers)."""

    row: LabelledInput
    parts: list[Part]
    numbers: Floats


class KeptFeatures:
    """Numbers of windows, kept in a folder: a float16 array each, below the encoder's version."""

    def __init__(
        self, reader: FeatureReader, layers: tuple[str, ...], tokenizer: Tokenizer, folder: Path
    ) -> None:
        """Store the parts and create the folder; `layers` are those that the reader pools."""
        self.encoder = reader.version
        self.layers = layers
        self.reader = reader
        self._tokenizer = tokenizer
        self._folder = folder / reader.version
        self._folder.mkdir(parents=True, exist_ok=True)

    def read(
        self, metric: str, rows: Sequence[LabelledInput], *, first: bool = False
    ) -> list[Read]:
        """Read rows, `first` only their first windows; one that cannot be judged is left out."""
        definition, found = load_definition(metric), []
        for number, row in enumerate(rows, start=1):
            parts = read_parts(FORMS[metric], definition, row.input, self._tokenizer)
            if isinstance(parts, JudgeError):
                _log.info("%s: %s", row.input.id, parts.message)
                continue
            parts = parts[:1] if first else parts
            found.append(Read(row, parts, np.stack([self._numbers(part) for part in parts])))
            if number % _TOLD == 0:
                _log.info("%s: %d of %d rows read", metric, number, len(rows))
        return found

    def _numbers(self, part: Part) -> Floats:
        path = self._folder / f"{hashlib.sha256(repr(part).encode()).hexdigest()[:32]}.npy"
        if not path.exists():
            numbers, _ = self.reader(part)
            with written_whole(path) as draft, draft.open("wb") as file:
                np.save(file, numbers.astype(np.float16))
        return np.asarray(np.load(path), dtype=np.float32)


def find_layers(folder: Path) -> tuple[str, ...]:
    """Find the tensors that hold every second layer's states in the exported encoder."""
    import onnx

    nodes = onnx.load(folder / MODEL, load_external_data=False).graph.node
    # One norm follows the embeddings, then two in each layer, the second of them its end.
    norms = [node.output[0] for node in nodes if node.op_type == "LayerNormalization"]
    return tuple(norms[:: 2 * _LAYERS])
