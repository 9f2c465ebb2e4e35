"""Semantic similarity: how near each sentence is to the nearest sentence of the documents.

The article "Detect hallucinations for RAG-based systems" (approach 2) speaks of sentences, but its
code embeds the answer and the context as wholes: one false sentence drowns among the others, and
what exceeds the model's window is cut off unseen. It counts empty texts as grounded, and its score,
one minus the cosine, can exceed 1. Here sentences are compared with sentences, and the score is
clipped to [0, 1]; `compare="whole"` does what its code does, with the whole of either text. Pairs
of adjacent document sentences as further candidates were tried and did not rank answers better.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ...backends.base import EmbeddingBackend, EmbeddingError
from ...contract.base import unscored
from ...contract.types import Evidence, Example, JudgeInfo, Verdict
from ...text import Piece, split_sentences
from ..findings import Finding, answer_verdict, body, claimless_verdict, claims, sentences_verdict

Compared = Literal["sentences", "whole"]
COMPARED: tuple[str, ...] = get_args(Compared)

# Best balanced accuracy on RAGTruth validation rows (docs/results/2026-11-20-four-detectors.md and
# 2026-11-24-reproduction.md).
DEFAULT_THRESHOLDS: dict[Compared, float] = {"sentences": 0.42, "whole": 0.14}
_EVIDENCE = 2  # document sentences named for one sentence at most
_KEPT = 64  # documents whose vectors are kept for the next batch


class SemanticSimilarity:
    """Scores each sentence by one minus its greatest cosine with a sentence of the documents.

    Evidence are the nearest document sentences, two at most, among those that alone would support
    the sentence. A sentence at `threshold` or above, in [0, 1], is unsupported. With `compare`
    "whole" the answer as a whole has one minus its cosine with all documents together, and neither
    sentences nor evidence.
    """

    checks = True

    def __init__(
        self,
        embeddings: EmbeddingBackend,
        threshold: float | None = None,
        compare: Compared = "sentences",
    ) -> None:
        whole = "" if compare == "sentences" else f"-{compare}"
        self.info = JudgeInfo(name="semantic-similarity", version=f"1-{embeddings.version}{whole}")
        self._embeddings = embeddings
        self._threshold = DEFAULT_THRESHOLDS[compare] if threshold is None else threshold
        self._judge = self._judge_sentences if compare == "sentences" else self._judge_wholes
        self._kept: dict[str, _Sentences] = {}

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples; all their sentences are embedded together, each once."""
        try:
            return self._judge(examples)
        except EmbeddingError as error:
            if error.code == "too_long" and len(examples) > 1:
                # One example's text is at fault: the others are judged without it.
                return [verdict for example in examples for verdict in self([example])]
            return [
                unscored(self.info, example.id, error.code, str(error))
                if claims(example)
                else self._judge([example])[0]
                for example in examples
            ]

    def _judge_wholes(self, examples: Sequence[Example]) -> list[Verdict]:
        asked = [bool(claims(example)) for example in examples]
        rows = [(example, "\n\n".join(example.context)) for example in examples]
        read = [row for row, claimed in zip(rows, asked, strict=True) if claimed]
        vectors = self._embed(chain.from_iterable((e.answer, context) for e, context in read))
        return [
            self._whole_verdict(example, float(vectors[example.answer] @ vectors[context]))
            if claimed
            else claimless_verdict(example, self.info)
            for (example, context), claimed in zip(rows, asked, strict=True)
        ]

    def _whole_verdict(self, example: Example, cosine: float) -> Verdict:
        score = float(np.clip(1.0 - cosine, 0.0, 1.0))
        reason = f"The answer has cosine {cosine:.2f} with the documents together."
        return answer_verdict(example, self.info, score, self._threshold, (reason,))

    def _judge_sentences(self, examples: Sequence[Example]) -> list[Verdict]:
        kept = self._kept
        answers = [claims(example) for example in examples]
        # Where nothing is claimed, nothing is looked up.
        contexts = [
            example.context if asked else ()
            for example, asked in zip(examples, answers, strict=True)
        ]
        documents = dict.fromkeys(chain(*contexts))
        unread = {text: split_sentences(text) for text in documents if text not in kept}
        vectors = self._embed(
            body(piece) for pieces in (*unread.values(), *answers) for piece in pieces
        )
        read = {
            text: _Sentences.of(unread[text], vectors) if text in unread else kept[text]
            for text in documents
        }
        self._keep(read)
        return [
            self._verdict(example, asked, [read[text] for text in context], vectors)
            for example, asked, context in zip(examples, answers, contexts, strict=True)
        ]

    def _embed(self, texts: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        unique = list(dict.fromkeys(texts))
        return dict(zip(unique, self._embeddings.embed(unique), strict=True)) if unique else {}

    def _keep(self, read: dict[str, _Sentences]) -> None:
        """Keep the documents used last. The dict is replaced, so that threads may share a judge."""
        older = {text: document for text, document in self._kept.items() if text not in read}
        self._kept = dict(list((older | read).items())[-_KEPT:])

    def _verdict(
        self,
        example: Example,
        asked: Sequence[Piece],
        documents: Sequence[_Sentences],
        vectors: dict[str, NDArray[np.float32]],
    ) -> Verdict:
        if not documents:
            return sentences_verdict(example, self.info, (), self._threshold)
        places = [
            (index, piece) for index, document in enumerate(documents) for piece in document.pieces
        ]
        candidates = np.concatenate([document.vectors for document in documents if document.pieces])
        findings = []
        for piece in asked:
            scores = np.clip(1.0 - candidates @ vectors[body(piece)], 0.0, 1.0)
            nearest = np.argsort(scores, kind="stable")[:_EVIDENCE]
            best = float(scores[nearest[0]])
            findings.append(
                Finding(
                    piece,
                    raw_score=best,
                    reason=f"comes as near as cosine {1.0 - best:.2f} to a document sentence",
                    evidence=tuple(
                        Evidence(document=index, start=p.start, end=p.end, relation="support")
                        for index, p in (places[i] for i in nearest if scores[i] < self._threshold)
                    ),
                )
            )
        return sentences_verdict(example, self.info, findings, self._threshold)


class _Sentences(NamedTuple):
    """A document's sentences and their unit vectors, shape (sentences, dimension)."""

    pieces: tuple[Piece, ...]
    vectors: NDArray[np.float32]

    @classmethod
    def of(cls, pieces: Sequence[Piece], vectors: dict[str, NDArray[np.float32]]) -> _Sentences:
        rows = [vectors[body(piece)] for piece in pieces]
        return cls(tuple(pieces), np.stack(rows) if rows else np.empty((0, 0), np.float32))
