"""Entailment as a judge: each sentence of the answer is a hypothesis, the documents its premise.

The NLI rows of RAGHalu's table 3: whatever is not entailed, neutral or contradicted, is
unsupported. Premises that are too long for the model are read in windows, of which the best counts.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ...contract.types import Evidence, Example, JudgeError, JudgeInfo, Usage, Verdict
from ...text import split_sentences
from ..findings import Finding, body, claims, sentences_verdict
from .nli_model import NliModel

VERSION = "nli-v1"
DEFAULT_THRESHOLD = 0.5
_GAP = re.compile(r"\s+")


class NliJudge:
    """Scores each sentence that claims something by 1 - P(entailment) in its best window.

    A sentence at `threshold` or above, in [0, 1], is unsupported. Its evidence is the best window.
    """

    checks = True

    def __init__(self, model: NliModel, threshold: float | None = None) -> None:
        self.info = JudgeInfo(name=f"nli:{model.name}", version=f"{VERSION}-{model.version}")
        self._model = model
        self._threshold = DEFAULT_THRESHOLD if threshold is None else threshold

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples."""
        return [self._judge(example) for example in examples]

    def _judge(self, example: Example) -> Verdict:
        premise = Premise(example.context, self._model)
        findings: list[Finding] = []
        windows = tokens = 0
        for piece in claims(example):
            best = premise.read(body(piece))
            if isinstance(best, JudgeError):
                findings.append(Finding(piece, best))
                continue
            windows += best.windows
            tokens += best.tokens
            reason = f"is entailed with {best.support:.2f} of 1 by the documents"
            findings.append(Finding(piece, 1.0 - best.support, reason, best.evidence))
        usage = Usage(input_tokens=tokens, windows=windows)
        return sentences_verdict(example, self.info, findings, self._threshold, usage)


class _Block(NamedTuple):
    """A sentence of a document, or a part of a long one, and its tokens."""

    document: int
    start: int
    end: int
    tokens: int


class Best(NamedTuple):
    """What the window that supports a hypothesis most says about it."""

    support: float  # P(entailment), in [0, 1]
    conflict: float  # P(contradiction) against entailment, in [0, 1]
    evidence: tuple[Evidence, ...]  # the window, a range for each document in it
    windows: int  # how many were read
    tokens: int  # that the model read in all of them


class Premise:
    """Documents that hypotheses are read against: in windows, the one with most support counts."""

    def __init__(self, documents: Sequence[str], model: NliModel) -> None:
        self._documents = documents
        self._model = model
        # Two blocks go into any window: a hypothesis may fill the rest.
        self._longest = model.limit // 3
        self._blocks = [
            block
            for index, document in enumerate(documents)
            for piece in split_sentences(document)
            for block in self._cut(index, piece.start, piece.end)
        ]

    def read(self, hypothesis: str) -> Best | JudgeError:
        """Read the hypothesis against every window.

        Errors: `too_long` where the hypothesis leaves no room for a block; `unparsed` where
        the model said something else than a label of any window: that could be the support.
        """
        room = self._model.limit - self._model.length("", hypothesis)
        if room < self._longest:
            message = f"the sentence leaves {max(room, 0)} tokens for the documents"
            return JudgeError(code="too_long", message=message)
        windows = list(self._windows(room))
        readings = [self._model.read(self._text(window), hypothesis) for window in windows]
        supports = [reading.support for reading in readings if reading.support is not None]
        if len(supports) < len(readings):
            return JudgeError(code="unparsed", message="the model said neither 1 nor 0")
        index = max(range(len(supports)), key=supports.__getitem__)
        return Best(
            supports[index],
            readings[index].conflict,
            tuple(
                Evidence(document=document, start=start, end=end, relation="support")
                for document, start, end in _ranges(windows[index])
            ),
            len(windows),
            sum(reading.tokens for reading in readings),
        )

    def _cut(self, document: int, start: int, end: int) -> Iterator[_Block]:
        """Split a range in halves, at white space if possible, until its parts are short enough."""
        text = self._documents[document][start:end]
        tokens = self._model.count(text)
        if tokens <= self._longest or len(text) < 2:
            yield _Block(document, start, end, tokens)
            return
        middle = len(text) // 2
        gaps = [gap.span() for gap in _GAP.finditer(text)]
        left, right = min(gaps, key=lambda gap: abs(gap[0] - middle), default=(middle, middle))
        yield from self._cut(document, start, start + left)
        yield from self._cut(document, start + right, end)

    def _windows(self, room: int) -> Iterator[list[_Block]]:
        """Fill windows with blocks, in order; a block takes one token more for what joins it."""
        window: list[_Block] = []
        used = 0
        for block in self._blocks:
            if window and used + block.tokens + 1 > room:
                yield window
                window, used = [], 0
            window.append(block)
            used += block.tokens + 1
        yield window

    def _text(self, window: Sequence[_Block]) -> str:
        return "\n".join(
            self._documents[document][start:end] for document, start, end in _ranges(window)
        )


def _ranges(window: Sequence[_Block]) -> Iterator[tuple[int, int, int]]:
    """Yield the range that the window takes of each document in it."""
    for document, group in groupby(window, key=lambda block: block.document):
        blocks = list(group)
        yield document, blocks[0].start, blocks[-1].end
