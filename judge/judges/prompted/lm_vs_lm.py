"""LM vs LM: an examiner questions an examinee about a claim, then decides.

Cohen et al. 2023 (arXiv 2305.13281, section 3): the examiner, who sees the claim alone, asks
questions round after round until it has no more; the examinee, who made the claim, answers; then
the examiner says whether the claim is correct. Here, for answers to documents, a claim is a
sentence of the answer, and the examinee answers from the documents, as it did the first time. One
model plays both, as in most of the paper. Ours: what was said so far is in the prompt as text,
an empty list says that there are no more questions (the paper asks for a yes or no first), and a
decision that cannot be read is no decision (the paper takes it for a rejection).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...backends.base import ChatReply, ChatRequest
from ...contract.types import Example, JudgeError, JudgeInfo, Verdict
from ...text import Piece, claims_nothing, split_sentences
from ..detectors.asking import fault_of, messages
from ..findings import Finding, body
from ..talk import Talk, ask, together
from .objects import fault_in, keyed_schema, read_flag, read_object, read_texts
from .scoring import Missing, sentences_verdict

EXAMINE_PROMPT, ANSWER_PROMPT, DECIDE_PROMPT = (
    f"lm-vs-lm-{part}-v1" for part in ("examine", "answer", "decide")
)
QUESTIONS_SCHEMA = keyed_schema(
    {"questions": {"type": "array", "items": {"type": "string"}, "maxItems": 5}}
)
DECISION_SCHEMA = keyed_schema({"correct": {"type": "boolean"}})
DEFAULT_THRESHOLD = 0.5
_QUESTIONS_TOKENS, _ANSWER_TOKENS, _DECISION_TOKENS = 300, 400, 32


@dataclass(frozen=True)
class LmVsLm:
    """Examines each sentence that claims something; its score is 1 if found incorrect, else 0.

    Attributes:
        model: name of the chat model, examiner and examinee.
        rounds: of questions at most, at least 1 (the paper: 5).
        threshold: least score of an unsupported sentence.
    """

    model: str
    rounds: int = 5
    threshold: float = DEFAULT_THRESHOLD

    @property
    def info(self) -> JudgeInfo:
        """Return the judge's name and version."""
        return JudgeInfo(name=f"lm-vs-lm:{self.model}", version=f"lm-vs-lm-v1-{self.rounds}")

    def talk(self, example: Example) -> Talk[Verdict]:
        """Judge an answer, all its sentences side by side."""
        pieces = split_sentences(example.answer)
        asked = [piece for piece in pieces if not claims_nothing(piece.text)]
        examined = yield from together([self._examine(example, piece) for piece in asked])
        found = dict(zip(asked, examined, strict=True))
        findings = [found.get(piece, Finding(piece, None)) for piece in pieces]
        return sentences_verdict(example, self.info, findings, self.threshold)

    def _examine(self, example: Example, piece: Piece) -> Talk[Finding | Missing]:
        claim, said = body(piece), ""
        for _ in range(self.rounds):
            turns = messages(EXAMINE_PROMPT, example, claim=claim, said=said)
            questions = _read_questions(
                (yield from ask(ChatRequest(turns, QUESTIONS_SCHEMA, _QUESTIONS_TOKENS)))
            )
            if isinstance(questions, JudgeError):
                return Missing(piece, questions)
            if not questions:
                break
            asked = "\n".join(f"{number}. {text}" for number, text in enumerate(questions, 1))
            turns = messages(ANSWER_PROMPT, example, questions=asked, said=said)
            reply = yield from ask(ChatRequest(turns, max_tokens=_ANSWER_TOKENS))
            if fault := fault_of(reply):
                return Missing(piece, fault)
            said += f"Examiner:\n{asked}\nExaminee:\n{reply.text.strip()}\n"
        if not said:
            return Missing(piece, fault_in("the examiner asked no question"))
        turns = messages(DECIDE_PROMPT, example, claim=claim, said=said)
        reply = yield from ask(ChatRequest(turns, DECISION_SCHEMA, _DECISION_TOKENS))
        return _decide(piece, reply)


def _read_questions(reply: ChatReply) -> Sequence[str] | JudgeError:
    value = read_object(reply)
    return value if isinstance(value, JudgeError) else read_texts(value, "questions")


def _decide(piece: Piece, reply: ChatReply) -> Finding | Missing:
    value = read_object(reply)
    correct = value if isinstance(value, JudgeError) else read_flag(value, "correct")
    if isinstance(correct, JudgeError):
        return Missing(piece, correct)
    said = "held" if correct else "did not hold"
    return Finding(piece, float(not correct), f"{said} when the model was examined on it")
