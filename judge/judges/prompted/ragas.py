"""RAGAS faithfulness: the claims of the answer, then a verdict for each.

Es et al. 2024 (arXiv 2309.15217, section 3): faithfulness is the share of the answer's statements
that the context supports. Two calls an answer, as Luna counts them (appendix B). The raw score is
one minus faithfulness; the Lynx paper calls an answer hallucinated if less than half is faithful
(section 5).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from ...backends.base import ChatReply, ChatRequest
from ...contract.base import unscored
from ...contract.types import Example, JudgeError, JudgeInfo, Verdict
from ...prompts import messages
from ..findings import answer_verdict, mean_of
from ..talk import Method, Talk, ask
from .objects import keyed_schema, read_denial, read_object, read_texts

CLAIMS_PROMPT, VERDICTS_PROMPT = "ragas-claims-v1", "ragas-verdicts-v1"
CLAIMS_SCHEMA = keyed_schema({"claims": {"type": "array", "items": {"type": "string"}}})
VERDICT_SCHEMA = keyed_schema({"reason": {"type": "string"}, "supported": {"type": "boolean"}})
_CLAIMS_TOKENS = 800
_VERDICT_TOKENS = 120  # of one claim's verdict with its reason


@dataclass(frozen=True)
class Ragas(Method):
    """Scores an answer by the share of its claims that the documents do not support.

    A model that lists no claim in an answer which makes some has given nothing to take a share of:
    error `abstained`. Claims are in the model's words, so no sentence or span is marked.
    """

    threshold: float = 0.5001  # in the four decimals of a raw score: a half is faithful

    @property
    @override
    def info(self) -> JudgeInfo:
        return JudgeInfo(name=f"ragas:{self.model}", version=f"{CLAIMS_PROMPT}-{VERDICTS_PROMPT}")

    @override
    def talk(self, example: Example) -> Talk[Verdict]:
        request = ChatRequest(messages(CLAIMS_PROMPT, example), CLAIMS_SCHEMA, _CLAIMS_TOKENS)
        claims = read_texts(read_object((yield from ask(request))), "claims")
        if isinstance(claims, JudgeError):
            return unscored(self.info, example.id, claims.code, claims.message)
        if not claims:
            message = "the model listed no claim to check"
            return unscored(self.info, example.id, "abstained", message)
        reply = yield from ask(_verdicts_request(example, claims))
        scores = _read_verdicts(reply, len(claims))
        raw_score = mean_of(scores, self.threshold)
        reasons = [_reason(claim, score) for claim, score in zip(claims, scores, strict=True)]
        verdict = answer_verdict(example, self.info, raw_score, self.threshold, reasons)
        if verdict.raw_score is None or not all(isinstance(score, float) for score in scores):
            return verdict
        return verdict.model_copy(update={"faithfulness": round(1.0 - verdict.raw_score, 4)})


def _verdicts_request(example: Example, claims: Sequence[str]) -> ChatRequest:
    numbered = [f"{number}. {claim}" for number, claim in enumerate(claims, 1)]
    keys = [str(number) for number in range(1, len(claims) + 1)]
    return ChatRequest(
        messages(VERDICTS_PROMPT, example, claims="\n".join(numbered)),
        keyed_schema(dict.fromkeys(keys, VERDICT_SCHEMA)),
        _VERDICT_TOKENS * (1 + len(claims)),
    )


def _read_verdicts(reply: ChatReply, claims: int) -> list[float | JudgeError]:
    """Return each claim's score: 0 if supported, 1 if not, or why it has none."""
    value = read_object(reply)
    if isinstance(value, JudgeError):
        return [value] * claims
    return [_read_verdict(value, str(number)) for number in range(1, claims + 1)]


def _read_verdict(value: dict[str, Any], key: str) -> float | JudgeError:
    entry = value.get(key)
    score = read_denial(entry if isinstance(entry, dict) else {}, "supported")
    if isinstance(score, JudgeError):
        return JudgeError(code=score.code, message=f"claim {key}: {score.message}")
    return score


def _reason(claim: str, score: float | JudgeError) -> str:
    if isinstance(score, JudgeError):
        return f"UNSCORED: “{claim}” {score.message}."
    return f"{'UNSUPPORTED' if score else 'SUPPORTED'}: “{claim}”"
