"""Entailment as a judge: each sentence of the answer is a hypothesis, the documents its premise.

The NLI rows of RAGHalu's table 3: whatever is not entailed, neutral or contradicted, is
unsupported. Premises that are too long for the model are read in windows, of which the best counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...contract.types import Example, JudgeError, JudgeInfo, Usage, Verdict
from ...text import claims_nothing, split_sentences
from ..findings import Finding, body
from .nli_model import NliModel
from .premise import Premise
from .scoring import Missing, sentences_verdict

VERSION = "nli-v1"
DEFAULT_THRESHOLD = 0.5


class NliJudge:
    """Scores each sentence that claims something by 1 - P(entailment) in its best window.

    A sentence at `threshold` or above, in [0, 1], is unsupported. Its evidence is the best window.
    """

    def __init__(self, model: NliModel, threshold: float | None = None) -> None:
        self.info = JudgeInfo(name=f"nli:{model.name}", version=f"{VERSION}-{model.version}")
        self._model = model
        self._threshold = DEFAULT_THRESHOLD if threshold is None else threshold

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples."""
        return [self._judge(example) for example in examples]

    def _judge(self, example: Example) -> Verdict:
        premise = Premise(example.context, self._model)
        findings: list[Finding | Missing] = []
        windows = tokens = 0
        for piece in split_sentences(example.answer):
            if claims_nothing(piece.text):
                findings.append(Finding(piece, None))
                continue
            best = premise.read(body(piece))
            if isinstance(best, JudgeError):
                findings.append(Missing(piece, best))
                continue
            windows += best.windows
            tokens += best.tokens
            reason = f"is entailed with {best.support:.2f} of 1 by the documents"
            findings.append(Finding(piece, 1.0 - best.support, reason, best.evidence))
        verdict = sentences_verdict(example, self.info, findings, self._threshold)
        return verdict.model_copy(update={"usage": Usage(input_tokens=tokens, windows=windows)})
