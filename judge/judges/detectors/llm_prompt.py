"""LLM prompt: a chat model scores each sentence of the answer against the documents.

The article "Detect hallucinations for RAG-based systems" (approach 1) asks for a number from 0
(based on the documents) to 1 (no basis in them). Its code reads the number from a variable that is
never set and takes what it cannot read for 0, so every answer comes out grounded; its prompt asks
about sentences but sends whole answers; the judged text is not delimited in it. Here
each sentence has its own request, text that is no score leaves the answer unscored, and the judged
text is between marks that it does not contain.
"""

import json
from dataclasses import dataclass

from typing_extensions import override

from ...backends.base import ChatRequest
from ...backends.replies import fault_of
from ...contract.base import unscored
from ...contract.types import Example, JudgeError, JudgeInfo, Verdict
from ...prompts import messages
from ..findings import Finding, claims, sentences_verdict
from ..prompted.objects import keyed_schema
from ..talk import Method, Talk

PROMPT = "llm-prompt-v1"
# An enum of steps would be tidier, but xgrammar writes its numbers as 0.050000000000000003.
SCHEMA = keyed_schema({"score": {"type": "number", "minimum": 0, "maximum": 1}})
_MAX_TOKENS = 32  # {"score": 0.05} and white space


@dataclass(frozen=True)
class LlmPrompt(Method):
    """Scores each sentence that claims something by one request to a chat model.

    A sentence at `threshold` or above, in [0, 1], is unsupported. If any sentence's reply holds no
    score, the answer has none either: error `unparsed`, `truncated`, `refused` or the backend's.
    """

    @property
    @override
    def info(self) -> JudgeInfo:
        return JudgeInfo(name=f"llm-prompt:{self.model}", version=PROMPT)

    @override
    def talk(self, example: Example) -> Talk[Verdict]:
        asked = claims(example)
        replies = yield [
            ChatRequest(messages(PROMPT, example, statement=piece.text), SCHEMA, _MAX_TOKENS)
            for piece in asked
        ]
        findings = []
        for piece, reply in zip(asked, replies, strict=True):
            score = fault_of(reply) or parse_score(reply.text)
            if isinstance(score, JudgeError):
                message = f"the sentence at {piece.start}: {score.message}"
                return unscored(self.info, example.id, score.code, message)
            findings.append(Finding(piece, score, f"was given {score:g} by the model"))
        return sentences_verdict(example, self.info, findings, self.threshold)


def parse_score(text: str) -> float | JudgeError:
    """Read a reply: a number in [0, 1], bare or as `{"score": number}`, and nothing beside it."""
    fault = JudgeError(code="unparsed", message=f"the reply is no score from 0 to 1: {text[:80]!r}")
    try:
        # Pairs, so that a score given twice is seen; whole numbers as floats, however long.
        value = json.loads(text, object_pairs_hook=tuple, parse_int=float)
    except (ValueError, RecursionError):
        return fault
    match value:
        case float(score) | tuple((("score", float(score)),)) if 0.0 <= score <= 1.0:
            return abs(score)  # -0 is 0
    return fault
