"""The judge: reads each claim of an answer with windows of the documents and writes the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from tokenizers import Tokenizer

from ..backends.encoder import EncoderBackend, EncoderOutput
from ..types import Example, JudgeInfo, Verdict
from .aggregate import ClaimSupport, claim_support
from .config import LunaConfig
from .novelty import claim_types
from .reading import Reading, assemble, find_specials
from .verdict import write_verdict
from .windows import ClaimWindows, read_claims

_TOKENS = 1 << 17  # in memory at once; the encoder sorts and batches what it gets


@dataclass(frozen=True)
class _Prepared:
    """An example cut into claims, with an input for each window of each claim, in order."""

    example: Example
    claims: list[ClaimWindows]
    readings: list[Reading]


class LunaJudge:
    """A token-level encoder's judgement of each claim, joined as its configuration says.

    An answer is FAIL where its raw score, in [0, 1], reaches `threshold` (by default the
    configuration's). Verdicts do not depend on what is judged beside them.
    """

    def __init__(
        self,
        encoder: EncoderBackend,
        tokenizer: Tokenizer,
        config: LunaConfig,
        threshold: float | None = None,
    ) -> None:
        """Join the parts; `tokenizer` is as `load_tokenizer` gives it."""
        version = f"{config.version}-w{config.windows}-{encoder.version}"
        self.info = JudgeInfo(name=config.name, version=version)
        self.languages = config.languages
        self._encoder = encoder
        self._tokenizer = tokenizer
        self._specials = find_specials(tokenizer)
        self._config = config
        self._threshold = config.threshold if threshold is None else threshold

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples, in portions that bound the memory."""
        verdicts: list[Verdict] = []
        portion: list[_Prepared] = []
        tokens = 0
        for example in examples:
            portion.append(self._prepare(example))
            tokens += sum(len(reading.ids) for reading in portion[-1].readings)
            if tokens >= _TOKENS:
                verdicts += self._judge(portion)
                portion, tokens = [], 0
        return verdicts + self._judge(portion)

    def read(self, example: Example) -> list[ClaimWindows]:
        """Cut the answer into claims with their windows of the documents."""
        return read_claims(
            example.question,
            example.answer,
            example.context,
            self._tokenizer,
            self._config.limits,
            self._config.windows,
        )

    def _prepare(self, example: Example) -> _Prepared:
        claims = self.read(example)
        readings = [
            assemble(
                window.ids.tolist(),
                claim.lead_ids.tolist(),
                claim.ids.tolist(),
                claim_types(new, claim.offsets - claim.start),
                self._specials,
                self._config.limits,
            )
            for claim, windows, new in claims
            for window in windows
        ]
        return _Prepared(example, claims, readings)

    def _judge(self, portion: Sequence[_Prepared]) -> list[Verdict]:
        """Run the encoder over all inputs, sorted by length, and give each its output back."""
        readings = [reading for prepared in portion for reading in prepared.readings]
        order = sorted(range(len(readings)), key=lambda index: len(readings[index].ids))
        found = self._encoder.encode([(readings[i].ids, readings[i].types) for i in order])
        outputs = dict(zip(order, found, strict=True))
        in_order = iter([outputs[index] for index in range(len(readings))])
        return [
            write_verdict(
                prepared.example,
                self.info,
                self._config,
                self._threshold,
                prepared.claims,
                self._supports(prepared, in_order),
                input_tokens=sum(len(reading.ids) for reading in prepared.readings),
            )
            for prepared in portion
        ]

    def _supports(
        self, prepared: _Prepared, outputs: Iterator[EncoderOutput]
    ) -> list[ClaimSupport | None]:
        """Give each claim's support, None for an empty one."""
        readings = iter(prepared.readings)
        supports: list[ClaimSupport | None] = []
        for claim in prepared.claims:
            if not claim.windows:
                supports.append(None)
                continue
            pairs = [(next(readings), next(outputs)) for _ in claim.windows]
            tokens = np.stack([out.tokens[r.first : r.first + r.claim] for r, out in pairs])
            claims = np.array([out.claim for _, out in pairs], dtype=np.float32)
            found = claim_support(tokens, claims, self._config.aggregation)
            fitted = self._config.support.support(found.support, claim)
            supports.append(found._replace(support=fitted))
        return supports
