"""A head: weights over a window's pooled states and hashed words, in a folder with a manifest.

A folder holds `METRIC.json` of each metric that has a head, and `manifest.json`.
"""

from base64 import b64decode, b64encode
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, StringConstraints, model_validator

from ...contract.types import Finite, Probability, Record, wrong
from ...files.stored import MANIFEST, Manifest, check_file, load_record, save_manifest
from ..adapter import HeadError
from ..definition import Kind
from . import heads_in
from .features import BUCKETS, Words, unit_length
from .parts import Form
from .states import Floats

_Base64 = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]*={0,2}$")]


class WordWeights(Record):
    """A regression over hashed words, weighted by tf-idf; words and parts each have unit length.

    Attributes:
        held: a bit for each of the BUCKETS, set where training had such words in two texts or more.
        idf: of each bucket held, float16, shape (held,).
        weights: int8, shape (outputs, held).
        scales: of each output's weights.
        bias: of each output.
    """

    held: _Base64
    idf: _Base64
    weights: _Base64
    scales: tuple[Finite, ...]
    bias: tuple[Finite, ...]


class StateWeights(Record):
    """A regression over what a window's states are pooled to."""

    weights: _Base64
    bias: tuple[Finite, ...]


NAMES = ("person", "location", "organization")
"""The kinds of names that `EncoderHead.names` tells apart."""


class Shares(Record):
    """How both regressions' logits are joined: words x theirs + states x theirs + bias."""

    words: Finite = 0.0
    states: Finite = 1.0
    bias: Finite = 0.0


class EncoderHead(Record):
    """A metric's head.

    Attributes:
        version: of its form and recipe.
        metric: its name.
        kind: as the metric's definition has it.
        form: what is read.
        encoder: start of the SHA-256 of the encoder's weights; with others it says nothing.
        layers: the encoder's tensors whose states are pooled.
        outputs: the class of each logit: the positive one, or every class or label.
        words: None where a pair is read.
        states: of every head.
        shares: fitted on validation rows, so that the probabilities are calibrated.
        names: of pii, over the numbers of a run of words: no name, then each of `NAMES`.
        thresholds: fitted on them too: P from which the positive class, or each label, holds.
        elsewhere: AUROC with its 95 % interval on each source that no training row came from.
    """

    schema_version: Literal["1.1"] = "1.1"
    version: str
    metric: str
    kind: Kind
    form: Form
    encoder: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{12}$")]
    layers: Annotated[tuple[str, ...], Field(min_length=1)]
    outputs: Annotated[tuple[str, ...], Field(min_length=1)]
    words: WordWeights | None
    states: StateWeights
    shares: Shares
    names: StateWeights | None = Field(default=None, exclude_if=lambda value: value is None)
    thresholds: dict[str, Probability] = Field(default_factory=dict)
    elsewhere: dict[str, tuple[Probability, Probability, Probability]] = Field(
        default_factory=dict, exclude_if=lambda value: not value
    )

    @model_validator(mode="after")
    def _whole(self) -> Self:
        n = len(self.outputs)
        states = unpack(self.states.weights, np.float16)
        fits = len(self.states.bias) == n and len(states) > 0 and len(states) % n == 0
        if self.words is not None:
            fits &= len(self.words.bias) == len(self.words.scales) == n
            mask = unpack(self.words.held, np.uint8)
            held = int(np.unpackbits(mask).sum())
            fits &= 8 * len(mask) == BUCKETS and held > 0
            fits &= len(unpack(self.words.idf, np.float16)) == held
            fits &= len(unpack(self.words.weights, np.int8)) == n * held
        if self.names is not None:
            fits &= len(self.names.bias) == 1 + len(NAMES)
            fits &= len(unpack(self.names.weights, np.float16)) % (1 + len(NAMES)) == 0
        if not fits:
            raise wrong("weights are not as long as the outputs say")
        return self


class Scorer:
    """A head's weights, unpacked."""

    def __init__(self, head: EncoderHead) -> None:
        self._head = head
        n = len(head.outputs)
        self._states = _OverStates(head.states, head.metric)
        if head.words is not None:
            held = np.flatnonzero(np.unpackbits(unpack(head.words.held, np.uint8)))
            self._idf = np.zeros(BUCKETS, dtype=np.float32)
            self._idf[held] = unpack(head.words.idf, np.float16)
            self._column = np.zeros(BUCKETS, dtype=np.int32)  # of others any: their idf is 0
            self._column[held] = np.arange(len(held))
            self._weights = unpack(head.words.weights, np.int8).reshape(n, -1)
            self._scales = np.array(head.words.scales)
            self._words_bias = np.array(head.words.bias)

    def __call__(self, numbers: Floats, words: Words | None) -> NDArray[np.float64]:
        """Return P of each output for one window, shape (outputs,); raises as `logits`."""
        return join(self._head.kind, self.logits(numbers, words))

    def logits(self, numbers: Floats, words: Words | None) -> NDArray[np.float64]:
        """Return the logit of each output, shape (outputs,).

        Raises:
            HeadError: the encoder gives more or fewer numbers than the head has weights.
        """
        shares = self._head.shares
        logits = shares.bias + shares.states * self._states(numbers)
        if words is not None and self._head.words is not None:
            logits = logits + shares.words * self._of_words(words)
        return np.asarray(logits)

    def _of_words(self, words: Words) -> NDArray[np.float64]:
        values = unit_length(words, self._idf)
        products = self._weights[:, self._column[words.buckets]].astype(np.float32) @ values
        return np.asarray(self._scales * products + self._words_bias)


class NameScorer:
    """The weights over runs of words, unpacked."""

    def __init__(self, names: StateWeights, metric: str) -> None:
        self._states = _OverStates(names, metric)

    def __call__(self, numbers: Floats) -> NDArray[np.float64]:
        """Return P of no name and of each of `NAMES`, shape (runs, 4); raises as `Scorer`."""
        return join("multi-class", self._states(numbers))


class _OverStates:
    """A regression over numbers of the encoder, unpacked."""

    def __init__(self, states: StateWeights, metric: str) -> None:
        self._metric = metric
        self._bias = np.array(states.bias)
        weights = unpack(states.weights, np.float16).astype(np.float32)
        self._weights = weights.reshape(len(states.bias), -1)

    def __call__(self, numbers: Floats) -> NDArray[np.float64]:
        """Return logits of numbers of shape (n,) or (rows, n), shape (outputs,) or (rows, outputs).

        Raises:
            HeadError: the encoder gives more or fewer numbers than there are weights.
        """
        width = self._weights.shape[1]
        if numbers.shape[-1] != width:
            raise HeadError(
                f"the head of {self._metric} weighs {width} numbers, and the "
                f"encoder gives {numbers.shape[-1]}; fit it anew"
            )
        return np.asarray((self._weights @ numbers.T).T + self._bias)


def join(kind: Kind, logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities of logits, shape (..., outputs): softmax over classes, else sigmoids."""
    if kind == "multi-class":
        powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
    return np.asarray(0.5 + 0.5 * np.tanh(logits / 2))


def pack(array: NDArray[Any]) -> str:
    """Write an array's bytes, little-endian, as base64."""
    return b64encode(array.astype(array.dtype.newbyteorder("<")).tobytes()).decode("ascii")


def unpack(text: str, kind: type[np.generic]) -> NDArray[Any]:
    """Read what `pack` wrote, shape (values,).

    Raises:
        ValueError: it holds no whole number of values.
    """
    return np.frombuffer(b64decode(text), dtype=np.dtype(kind).newbyteorder("<"))


def open_head(folder: Path, metric: str) -> EncoderHead:
    """Read a metric's head and check it against the folder's manifest.

    Raises:
        HeadError: there is none, it is not what the manifest says, or cannot be read.
    """
    manifest, path = load_record(folder / MANIFEST, Manifest, HeadError), folder / f"{metric}.json"
    if path.name not in manifest.files:
        known = ", ".join(heads_in(folder)) or "none"
        raise HeadError(f"no head of {metric!r} on the encoder in {folder}; there are: {known}")
    check_file(path, manifest, HeadError)
    return load_record(path, EncoderHead, HeadError, "fit it anew: moonlynx train luna2-heads")


def save_heads(heads: list[EncoderHead], folder: Path) -> None:
    """Write heads and a manifest over them; heads of other metrics in the folder go."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.json"):
        old.unlink()
    for head in heads:
        content = head.model_dump_json() + "\n"
        (folder / f"{head.metric}.json").write_text(content, encoding="utf-8", newline="\n")
    save_manifest(folder, (f"{head.metric}.json" for head in heads))
