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

from itertools import chain

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ...backends.base import ChatBackend, TokenEmbeddingBackend
from ...contract.base import unscored
from ...contract.types import Example, JudgeError, JudgeInfo, Verdict
from ...text import split_sentences
from ..findings import Finding, body, claims, sentences_verdict
from ..talk import ANSWER_PROMPT, Talk, TalkingJudge, draw_samples

# Best balanced accuracy on RAGTruth validation rows (docs/results/2026-11-20-four-detectors.md).
DEFAULT_THRESHOLD = 0.48


class BertStochastic(TalkingJudge):
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
        """Set the judge up; without a chat model, only examples with samples can be judged."""
        super().__init__(backend)
        drawn = f"-{ANSWER_PROMPT}-{samples}-{backend.name}" if backend else ""
        self.info = JudgeInfo(name="bert-stochastic", version=f"1-{embeddings.version}{drawn}")
        self._embeddings = embeddings
        self._samples = samples
        self._threshold = DEFAULT_THRESHOLD if threshold is None else threshold

    @override
    def talk(self, example: Example) -> Talk[Verdict]:
        possible = self._backend is not None
        found = yield from draw_samples(example, self._samples, possible=possible)
        if isinstance(found, JudgeError):
            return unscored(self.info, example.id, found.code, found.message)
        samples = [[body(piece) for piece in split_sentences(text)] for text in found]
        asked = claims(example)
        texts = sorted({*map(body, asked), *chain(*samples)})
        states = dict(zip(texts, self._embeddings.embed_tokens(texts), strict=True))
        findings = []
        for piece in asked:
            own = states[body(piece)]
            best = [max(bert_score(own, states[other]) for other in sample) for sample in samples]
            agreement = np.mean(best)
            others = f"{len(samples)} other {'answers' if len(samples) > 1 else 'answer'}"
            reason = f"has a mean BERTScore of {agreement:.2f} with {others}"
            findings.append(Finding(piece, float(np.clip(1.0 - agreement, 0.0, 1.0)), reason))
        return sentences_verdict(example, self.info, findings, self._threshold)


def bert_score(candidate: NDArray[np.float32], reference: NDArray[np.float32]) -> float:
    """Return BERTScore's F1 of two texts by greedy matching (Zhang et al. 2020, section 3).

    Both are L2-normalised token states, shape (tokens, dimension). 0 where precision or recall is
    not above 0, or a text has no tokens.
    """
    if not len(candidate) or not len(reference):
        return 0.0
    cosines = candidate @ reference.T
    precision = float(cosines.max(axis=1).mean())
    recall = float(cosines.max(axis=0).mean())
    if precision <= 0.0 or recall <= 0.0:
        return 0.0
    return 2.0 * precision * recall / (precision + recall)
