"""Metrics by heads on the encoder of luna, which reads a text once for all: no torch and no GPU.

Each window is read by itself, so that verdicts are independent; windows are joined as the
metric's definition says.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from ...contract.types import JudgeError, JudgeInfo, MetricInput, MetricVerdict, Usage
from ...judges.luna import weights as luna
from ..adapter import HeadError
from ..definition import load_definition
from ..metric import DIGITS
from ..prompt import fault_of
from . import EMBEDDED
from .features import FeatureReader, hash_words
from .head import Scorer, open_head
from .parts import Part, read_parts
from .states import StateEncoder

_ADHERENCE = "context_adherence"


class EncoderMetric:
    """A metric by a head on the encoder of luna."""

    def __init__(self, name: str, folder: Path = EMBEDDED) -> None:
        """Load the head of that name from a folder of heads.

        Raises:
            DefinitionError: there is no such metric.
            HeadError: it has no head in the folder, or one of another encoder.
            LunaError: the encoder's weights are not whole.
        """
        self.definition = load_definition(name)
        if name == _ADHERENCE:
            raise HeadError(
                f"{name} on the encoder is the judge luna, whose verdicts have sentences and "
                "evidence: moonlynx judge --judge luna"
            )
        head = open_head(folder, name)
        reader, self._tokenizer = _load_reader(head.layers)
        if reader.version != head.encoder:
            raise HeadError(
                f"the head of {name} is of the encoder {head.encoder}, and {reader.version} is "
                "here; fit it anew: moonlynx train luna2-heads"
            )
        self.info = JudgeInfo(name=f"luna2:{name}", version=f"{head.version}-{reader.version}")
        self.thresholds = dict(head.thresholds)
        self.calibrated = True
        self.head = head
        self.reader = reader
        self._score = Scorer(head)

    def __call__(self, inputs: Sequence[MetricInput]) -> list[MetricVerdict]:
        """Judge the inputs, one after the other."""
        return [self._judge(one) for one in inputs]

    def _judge(self, one: MetricInput) -> MetricVerdict:
        metric = self.definition.name
        parts = fault_of(self.definition, one) or read_parts(
            self.head.form, self.definition, one, self._tokenizer
        )
        if isinstance(parts, JudgeError):
            return MetricVerdict(id=one.id, metric=metric, error=parts)
        scored = [self._read(part) for part in parts]
        found = self._over_windows(np.stack([found for found, _ in scored]))
        usage = Usage(
            calls=len(parts), input_tokens=sum(tokens for _, tokens in scored), windows=len(parts)
        )
        labels = {name: round(p, DIGITS) for name, p in found.items()}
        return MetricVerdict(id=one.id, metric=metric, labels=labels, usage=usage)

    def _read(self, part: Part) -> tuple[NDArray[np.float64], int]:
        numbers, tokens = self.reader(part)
        words = hash_words(part.premise) if self.head.words is not None else None
        return self._score(numbers, words), tokens

    def _over_windows(self, found: NDArray[np.float64]) -> dict[str, float]:
        """Join windows, shape (windows, outputs): of each output the greatest or, least, P."""
        outputs = self.head.outputs
        if self.definition.kind != "boolean":
            return dict(zip(outputs, map(float, found.max(axis=0)), strict=True))
        (positive,) = outputs
        (other,) = self.definition.classes.keys() - {positive}
        windows = self.definition.windows
        kept = found.max() if windows is None or windows.keep == positive else found.min()
        probabilities = {positive: float(kept), other: 1 - float(kept)}
        return {name: probabilities[name] for name in self.definition.classes}


@lru_cache(maxsize=1)  # all heads have the same
def _load_reader(layers: tuple[str, ...]) -> tuple[FeatureReader, Tokenizer]:
    weights = luna.open_weights(None, None)
    encoder = StateEncoder(weights.path, layers)
    return FeatureReader(encoder, weights.tokenizer), weights.tokenizer
