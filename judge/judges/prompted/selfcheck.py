"""SelfCheckGPT: does a sentence hold in other answers to the same question?

Manakul et al. 2023 (arXiv 2303.08896). The prompt form (section 5.5) asks of each sentence and each
sample whether the sample supports the sentence; a sentence's score is the share of samples that do
not. The NLI form (section 5.4) takes the mean P(contradiction) against P(entailment), without
neutral; a sample is the premise here. The paper draws 20 samples; the one of its forms that needs
no prompt and no entailment model is `bert-stochastic`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from typing_extensions import override

from ...backends.base import ChatRequest
from ...contract.base import unscored
from ...contract.types import Example, JudgeError, JudgeInfo, Verdict
from ...prompts import messages
from ...text import Piece
from ..findings import Finding, body, claims, mean_of, sentences_verdict
from ..talk import ANSWER_PROMPT, Method, Talk, draw_samples
from .nli import Premise
from .nli_model import NliModel
from .objects import keyed_schema, read_denial, read_object

PROMPT = "selfcheck-v1"
SCHEMA = keyed_schema({"supported": {"type": "boolean"}})
_MAX_TOKENS = 32


@dataclass(frozen=True)
class SelfCheck(Method):
    """Scores each sentence that claims something against samples of the answer.

    The samples are the example's own where it has some, all of them; else they are drawn from the
    chat model at temperature 1. If one of them fails, the example has no score.
    """

    samples: int = 5  # how many to draw, at least 1
    nli: NliModel | None = None  # compares instead of the chat model

    @property
    @override
    def info(self) -> JudgeInfo:
        drawn = "" if self.model is None else f"-{ANSWER_PROMPT}-{self.samples}"
        form = PROMPT if self.nli is None else f"nli-{self.nli.version}"
        name = self.model if self.nli is None else f"{self.nli.name},{self.model or ''}"
        return JudgeInfo(name=f"selfcheck:{name}".rstrip(","), version=f"{form}{drawn}")

    @override
    def talk(self, example: Example) -> Talk[Verdict]:
        possible = self.model is not None
        samples = yield from draw_samples(example, self.samples, possible=possible)
        if isinstance(samples, JudgeError):
            return unscored(self.info, example.id, samples.code, samples.message)
        asked = claims(example)
        if self.nli is None:
            replies = yield [
                _request(example, piece, sample) for piece in asked for sample in samples
            ]
            scores = iter([read_denial(read_object(each), "supported") for each in replies])
        else:
            scores = _contradictions(self.nli, asked, samples)
        findings = [self._finding(piece, [next(scores) for _ in samples]) for piece in asked]
        return sentences_verdict(example, self.info, findings, self.threshold)

    def _finding(self, piece: Piece, scores: Sequence[float | JudgeError]) -> Finding:
        mean = mean_of(scores, self.threshold)
        if isinstance(mean, JudgeError):
            return Finding(piece, mean)
        others = f"{len(scores)} other answer{'s' if len(scores) > 1 else ''}"
        return Finding(piece, mean, f"has a mean score of {mean:.2f} against {others}")


def _request(example: Example, piece: Piece, sample: str) -> ChatRequest:
    turns = messages(PROMPT, example, sample=sample, statement=body(piece))
    return ChatRequest(turns, SCHEMA, _MAX_TOKENS)


def _contradictions(
    nli: NliModel, pieces: Sequence[Piece], samples: Sequence[str]
) -> Iterator[float | JudgeError]:
    """Yield P(contradiction) of each sentence by each sample."""
    premises = [Premise([sample], nli) for sample in samples]
    for piece in pieces:
        for premise in premises:
            best = premise.read(body(piece))
            yield best if isinstance(best, JudgeError) else best.conflict
