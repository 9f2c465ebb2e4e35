"""The prompts of RAGHalu (appendix A.2): a label for each sentence of the answer.

The instructions are the paper's own. Ours are the marks around what is judged, and the reply as a
JSON object with one label by number: the paper's free list leaves sentences out unseen (appendix
A.5.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from typing_extensions import override

from ...backends.base import ChatReply, ChatRequest
from ...backends.replies import enum_places, share_of
from ...contract.types import Example, JudgeError, JudgeInfo, Verdict
from ...prompts import messages
from ...text import Piece
from ..findings import Finding, body, claims, sentences_verdict
from ..talk import Method, Talk
from .objects import Object, fault_in, keyed_schema, read_object, read_text

Labels = Literal[2, 3]
Sentences = Literal["one", "many"]
Tiers = Literal[1, 2]

# Scores by label; None: makes no claim.
_SCORES: dict[str, float | None] = {"SUPPORTED": 0.0, "UNSUPPORTED": 1.0, "NO-INFO": None}
_VERIFIABLE, _CAN_BE_VERIFIED = "raghalu-verifiable-v1", ("VERIFIABLE", "NO-INFO")
_MAX_TOKENS = 24  # of a label by its number, and as many for the rest


class _Label(NamedTuple):
    """What a sentence was called."""

    word: str
    second: float | None  # P(second label) beside the first, where the reply has logprobs


@dataclass(frozen=True)
class RagHaluPrompt(Method):
    """Labels the sentences that claim something by words, one or all of them in a call.

    A sentence's score is P(UNSUPPORTED) beside SUPPORTED where its label begins, in [0, 1]; where
    the backend gives no logprobs, 1 if UNSUPPORTED and 0 if SUPPORTED. With two labels, as with
    three, sentences that plainly claim nothing are NO_INFO and not asked about.
    """

    labels: Labels = 2  # 2 (SUPPORTED, UNSUPPORTED) or 3 (and NO-INFO)
    sentences: Sentences = "one"  # "one" in a call, which the paper found better, or "many"
    tiers: Tiers = 1  # 2 asks first, without the documents, which sentences can be verified at all

    @property
    @override
    def info(self) -> JudgeInfo:
        version = f"{self._prompt}-{self.sentences}-graded"
        if self.tiers == 2:
            version = f"{_VERIFIABLE}+{version}"
        return JudgeInfo(name=f"raghalu-prompt:{self.model}", version=version)

    @override
    def talk(self, example: Example) -> Talk[Verdict]:
        asked = claims(example)
        found: dict[Piece, _Label | JudgeError] = {}
        if self.tiers == 2:
            found = yield from self._label(example, asked, _VERIFIABLE, _CAN_BE_VERIFIED)
            asked = [
                piece
                for piece, label in found.items()
                if isinstance(label, _Label) and label.word == _CAN_BE_VERIFIED[0]
            ]
        found |= yield from self._label(example, asked, self._prompt, self._allowed)
        findings = [_finding(piece, label) for piece, label in found.items()]
        return sentences_verdict(example, self.info, findings, self.threshold)

    def _label(
        self, example: Example, asked: Sequence[Piece], prompt: str, allowed: Sequence[str]
    ) -> Talk[dict[Piece, _Label | JudgeError]]:
        """Ask for one of the labels for each sentence."""
        size = 1 if self.sentences == "one" else max(1, len(asked))
        groups = [asked[start : start + size] for start in range(0, len(asked), size)]
        requests = [_request(example, group, prompt, allowed) for group in groups]
        replies = (yield requests) if requests else []
        return {
            piece: _read(labels, reply, str(number), allowed)
            for group, reply in zip(groups, replies, strict=True)
            for labels in [read_object(reply)]
            for number, piece in enumerate(group, 1)
        }

    def request(self, example: Example, group: Sequence[Piece]) -> ChatRequest:
        """Ask for the labels of some sentences of the answer, numbered from 1 in their order."""
        return _request(example, group, self._prompt, self._allowed)

    @property
    def _prompt(self) -> str:
        return f"raghalu-{self.labels}-label-v1"

    @property
    def _allowed(self) -> list[str]:
        return list(_SCORES)[: self.labels]


def _request(
    example: Example, group: Sequence[Piece], prompt: str, allowed: Sequence[str]
) -> ChatRequest:
    facts = "\n".join(f"{number}. {body(piece)}" for number, piece in enumerate(group, 1))
    schema = _schema([str(number) for number in range(1, len(group) + 1)], allowed)
    max_tokens = _MAX_TOKENS * (1 + len(group))
    turns = messages(prompt, example, facts=facts)
    return ChatRequest(turns, schema, max_tokens, logprobs=True)


def _schema(keys: Sequence[str], allowed: Sequence[str]) -> dict[str, Any]:
    return keyed_schema({key: {"type": "string", "enum": [*allowed]} for key in keys})


def _read(
    labels: Object, reply: ChatReply, key: str, allowed: Sequence[str]
) -> _Label | JudgeError:
    text = read_text(labels, key)
    if isinstance(text, JudgeError):
        return text
    word = text.strip().upper().replace("_", "-")
    if word not in allowed:
        return fault_in(f"{text[:40]!r} is none of the labels")
    return _Label(word, _second(reply, key, allowed))


def _second(reply: ChatReply, key: str, allowed: Sequence[str]) -> float | None:
    """Return P(second label) among the first two at the token where the key's label begins."""
    if not reply.tokens:
        return None
    found = next(enum_places(reply.tokens, reply.text, _schema([key], allowed)), None)
    if found is None:
        return None
    place, (first, second, *_) = found
    return share_of(second, (first, second), reply.tokens[place].top)


def _finding(piece: Piece, label: _Label | JudgeError) -> Finding:
    if isinstance(label, JudgeError):
        return Finding(piece, label)
    score = _SCORES[label.word]
    if score is not None and label.second is not None:
        score = label.second
    return Finding(piece, score, f"was called {label.word} by the model")
