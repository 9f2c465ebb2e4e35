"""BERT stochastic checker: do other answers to the same question say the same?

What a model makes up varies from one sampled answer to the next. As in SelfCheckGPT (Manakul et al.
2023, section 5.1), a sentence's score is one minus the mean, over the samples, of its greatest
BERTScore with a sentence of that sample. BERTScore (Zhang et al. 2020, section 3) matches each
token of one sentence with the nearest token of the other by the cosine of their contextual states;
here without IDF weights and without rescaling by a baseline.

The article "Detect hallucinations for RAG-based systems" (approach 3) gives no code. It describes
BERTScore and then takes the cosine of whole-sentence embeddings, between each sentence and the one
"corresponding" to it in a sample. Samples have no corresponding sentences: their order and number
differ, so each sentence is compared with all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from ...backends.base import ChatBackend, ChatReply, ChatRequest, TokenEmbeddingBackend, acomplete
from ...contract.base import unscored
from ...contract.types import ErrorCode, Example, JudgeInfo, Usage, Verdict
from ...text import Piece, claims_nothing, split_sentences
from ..findings import Finding, body, to_verdict
from .asking import fault_of, messages, usage_of

PROMPT = "answer-v1"
# Best balanced accuracy on RAGTruth validation rows (docs/results/2026-11-20-four-detectors.md).
DEFAULT_THRESHOLD = 0.48
_MAX_TOKENS = 512  # of one sampled answer

_States = Mapping[str, NDArray[np.float32]]


class BertStochastic:
    """Scores each sentence by how little other answers to the same question agree with it.

    The other answers are the example's `samples` where it has some, all of them; else `samples`
    answers are drawn from the chat model at temperature 1. If one of them fails, the example has no
    score: fewer samples would be another measure. A sentence at `threshold` or above, in [0, 1], is
    unsupported.
    """

    def __init__(
        self,
        backend: ChatBackend | None,
        embeddings: TokenEmbeddingBackend,
        samples: int = 5,
        threshold: float | None = None,
    ) -> None:
        """Set the judge up.

        Args:
            backend: the chat model that answers, best the one whose answers are judged; without
                one, only examples with samples can be judged.
            embeddings: computes the token states for BERTScore.
            samples: answers to draw, at least 1.
            threshold: least score of an unsupported sentence.

        Raises:
            ValueError: `samples` is below 1.
        """
        if samples < 1:
            raise ValueError(f"samples must be at least 1, not {samples}")
        drawn = f"-{PROMPT}-{samples}-{backend.name}" if backend else ""
        self.info = JudgeInfo(name="bert-stochastic", version=f"1-{embeddings.version}{drawn}")
        self._backend = backend
        self._embeddings = embeddings
        self._samples = samples
        self._threshold = DEFAULT_THRESHOLD if threshold is None else threshold

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples, all requests of the batch together."""
        requests = self._requests(examples)
        replies = self._backend.complete(requests) if self._backend and requests else []
        return self._verdicts(examples, replies)

    async def acall(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples without blocking the event loop."""
        requests = self._requests(examples)
        replies = await acomplete(self._backend, requests) if self._backend and requests else []
        return await asyncio.to_thread(self._verdicts, examples, replies)

    def _requests(self, examples: Sequence[Example]) -> list[ChatRequest]:
        return [
            ChatRequest(
                messages(PROMPT, example),
                max_tokens=_MAX_TOKENS,
                temperature=1.0,
                seed=seed,
            )
            for example in examples
            if _needs_samples(example)
            for seed in range(self._samples)
        ]

    def _verdicts(self, examples: Sequence[Example], replies: Iterable[ChatReply]) -> list[Verdict]:
        rest = iter(replies)
        gathered = [self._gather(example, rest) for example in examples]
        states = self._embed(other for other in gathered if isinstance(other, _Others))
        return [
            self._verdict(example, others, states)
            if isinstance(others, _Others)
            else unscored(self.info, example.id, others.code, others.message, others.usage)
            for example, others in zip(examples, gathered, strict=True)
        ]

    def _gather(self, example: Example, rest: Iterator[ChatReply]) -> _Others | _Fault:
        """Return the example's own samples, or those from the next replies."""
        code: ErrorCode = "bad_input"
        texts, usage = example.samples, Usage()
        if _needs_samples(example):
            if self._backend is None:
                message = "samples: there are none, and no chat model is given to draw some"
                return _Fault(code, message)
            code, replies = "backend", list(islice(rest, self._samples))
            usage = usage_of(replies)
            for number, reply in enumerate(replies, start=1):
                if fault := fault_of(reply):
                    return _Fault(fault.code, f"sample {number}: {fault.message}", usage)
            texts = tuple(reply.text for reply in replies)
        samples = tuple(tuple(map(body, split_sentences(text))) for text in texts)
        if () in samples:
            return _Fault(code, f"sample {samples.index(()) + 1} holds no text", usage)
        return _Others(tuple(split_sentences(example.answer)), samples, usage)

    def _embed(self, gathered: Iterable[_Others]) -> _States:
        texts = {text for others in gathered for text in others.compared()}
        unique = sorted(texts)
        return dict(zip(unique, self._embeddings.embed_tokens(unique), strict=True))

    def _verdict(self, example: Example, others: _Others, states: _States) -> Verdict:
        findings = []
        for piece in others.pieces:
            if claims_nothing(piece.text):
                findings.append(Finding(piece, None))
                continue
            agreement = np.mean(
                [
                    max(bert_score(states[body(piece)], states[other]) for other in sample)
                    for sample in others.samples
                ]
            )
            reason = f"has a mean BERTScore of {agreement:.2f} with {len(others.samples)} other "
            reason += "answers" if len(others.samples) > 1 else "answer"
            findings.append(Finding(piece, float(np.clip(1.0 - agreement, 0.0, 1.0)), reason))
        return to_verdict(example, self.info, findings, self._threshold, others.usage)


@dataclass(frozen=True)
class _Others:
    """An answer's sentences, the sentences of each other answer, and what those cost."""

    pieces: tuple[Piece, ...]
    samples: tuple[tuple[str, ...], ...]
    usage: Usage

    def compared(self) -> Iterator[str]:
        """Return the texts whose token states are needed."""
        claims = _claims(self.pieces)
        return chain(claims, *self.samples) if claims else iter(())


@dataclass(frozen=True)
class _Fault:
    """Why there are no other answers to compare with."""

    code: ErrorCode
    message: str
    usage: Usage = Usage()  # noqa: RUF009 (frozen)


def _claims(pieces: Iterable[Piece]) -> list[str]:
    return [body(piece) for piece in pieces if not claims_nothing(piece.text)]


def _needs_samples(example: Example) -> bool:
    return not example.samples and bool(_claims(split_sentences(example.answer)))


def bert_score(candidate: NDArray[np.float32], reference: NDArray[np.float32]) -> float:
    """Return BERTScore's F1 of two texts by greedy matching (Zhang et al. 2020, section 3).

    Args:
        candidate: L2-normalised token states, shape (tokens, dimension).
        reference: the same for the other text.

    Returns:
        The harmonic mean of precision and recall, at most 1; 0 where either is not above 0, or a
        text has no tokens.
    """
    if not len(candidate) or not len(reference):
        return 0.0
    cosines = candidate @ reference.T
    precision = float(cosines.max(axis=1).mean())
    recall = float(cosines.max(axis=0).mean())
    if precision <= 0.0 or recall <= 0.0:
        return 0.0
    return 2.0 * precision * recall / (precision + recall)
