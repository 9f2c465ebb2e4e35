"""LM vs LM: an examiner questions an examinee about a claim, then decides.

Cohen et al. 2023 (arXiv 2305.13281, section 3): the examiner, who sees the claim alone, asks
questions round after round until it has no more; the examinee, who made the claim, answers; then
the examiner says whether the claim is correct. Here, for answers to documents, a claim is a
sentence of the answer, and the examinee answers from the documents, as it did the first time. One
model plays both, as in most of the paper. Ours: what was said so far is in the prompt as text,
an empty list says that there are no more questions (the paper asks for a yes or no first), and a
decision that cannot be read is no decision (the paper takes it for a rejection).
"""

from dataclasses import dataclass

from typing_extensions import override

from ...backends.base import ChatRequest
from ...backends.replies import fault_of
from ...contract.types import Example, JudgeError, JudgeInfo, Verdict
from ...prompts import messages
from ...text import Piece
from ..findings import Finding, body, claims, sentences_verdict
from ..talk import Method, Talk, ask, together
from .objects import fault_in, keyed_schema, read_denial, read_object, read_texts

EXAMINE_PROMPT, ANSWER_PROMPT, DECIDE_PROMPT = (
    f"lm-vs-lm-{part}-v1" for part in ("examine", "answer", "decide")
)
QUESTIONS_SCHEMA = keyed_schema(
    {"questions": {"type": "array", "items": {"type": "string"}, "maxItems": 5}}
)
DECISION_SCHEMA = keyed_schema({"correct": {"type": "boolean"}})
_QUESTIONS_TOKENS, _ANSWER_TOKENS, _DECISION_TOKENS = 300, 400, 32


@dataclass(frozen=True)
class LmVsLm(Method):
    """Examines each sentence that claims something; its score is 1 if found incorrect, else 0."""

    rounds: int = 5  # of questions at most, at least 1 (the paper: 5)

    @property
    @override
    def info(self) -> JudgeInfo:
        return JudgeInfo(name=f"lm-vs-lm:{self.model}", version=f"lm-vs-lm-v1-{self.rounds}")

    @override
    def talk(self, example: Example) -> Talk[Verdict]:
        findings = yield from together([self._examine(example, piece) for piece in claims(example)])
        return sentences_verdict(example, self.info, findings, self.threshold)

    def _examine(self, example: Example, piece: Piece) -> Talk[Finding]:
        claim, said = body(piece), ""
        for _ in range(self.rounds):
            turns = messages(EXAMINE_PROMPT, example, claim=claim, said=said)
            reply = yield from ask(ChatRequest(turns, QUESTIONS_SCHEMA, _QUESTIONS_TOKENS))
            questions = read_texts(read_object(reply), "questions")
            if isinstance(questions, JudgeError):
                return Finding(piece, questions)
            if not questions:
                break
            asked = "\n".join(f"{number}. {text}" for number, text in enumerate(questions, 1))
            turns = messages(ANSWER_PROMPT, example, questions=asked, said=said)
            reply = yield from ask(ChatRequest(turns, max_tokens=_ANSWER_TOKENS))
            if fault := fault_of(reply):
                return Finding(piece, fault)
            said += f"Examiner:\n{asked}\nExaminee:\n{reply.text.strip()}\n"
        if not said:
            return Finding(piece, fault_in("the examiner asked no question"))
        turns = messages(DECIDE_PROMPT, example, claim=claim, said=said)
        reply = yield from ask(ChatRequest(turns, DECISION_SCHEMA, _DECISION_TOKENS))
        score = read_denial(read_object(reply), "correct")
        told = "did not hold" if score else "held"
        return Finding(piece, score, f"{told} when the model was examined on it")
