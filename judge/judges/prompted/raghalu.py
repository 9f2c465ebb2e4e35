"""The prompts of RAGHalu (appendix A.2): a label for each sentence of the answer.

The instructions are the paper's own. Ours are the marks around what is judged, and the reply as a
JSON object with one label by number: the paper's free list leaves sentences out unseen (appendix
A.5.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from typing_extensions import override

from ...backends.base import ChatRequest
from ...contract.types import Example, JudgeError, JudgeInfo, Verdict
from ...prompts import messages
from ...text import Piece
from ..findings import Finding, body, claims, sentences_verdict
from ..talk import Method, Talk
from .objects import Object, fault_in, keyed_schema, read_object, read_text

Labels = Literal[2, 3]
Sentences = Literal["one", "many"]

# Scores by label; None: makes no claim.
_SCORES: dict[str, float | None] = {"SUPPORTED": 0.0, "UNSUPPORTED": 1.0, "NO-INFO": None}
_MAX_TOKENS = 24  # of a label by its number, and as many for the rest


@dataclass(frozen=True)
class RagHaluPrompt(Method):
    """Labels the sentences that claim something by words, one or all of them in a call.

    A sentence's score is 1 if UNSUPPORTED and 0 if SUPPORTED. With two labels, as with three,
    sentences that plainly claim nothing are NO_INFO and not asked about.
    """

    labels: Labels = 2  # 2 (SUPPORTED, UNSUPPORTED) or 3 (and NO-INFO)
    sentences: Sentences = "one"  # "one" in a call, which the paper found better, or "many"

    @property
    @override
    def info(self) -> JudgeInfo:
        version = f"{self._prompt}-{self.sentences}"
        return JudgeInfo(name=f"raghalu-prompt:{self.model}", version=version)

    @override
    def talk(self, example: Example) -> Talk[Verdict]:
        asked = claims(example)
        size = 1 if self.sentences == "one" else len(asked)
        groups = [asked[start : start + size] for start in range(0, len(asked), size)]
        replies = yield [self.request(example, group) for group in groups]
        findings = [
            self._finding(piece, labels, str(number))
            for group, reply in zip(groups, replies, strict=True)
            for labels in [read_object(reply)]
            for number, piece in enumerate(group, 1)
        ]
        return sentences_verdict(example, self.info, findings, self.threshold)

    def request(self, example: Example, group: Sequence[Piece]) -> ChatRequest:
        """Ask for the labels of some sentences of the answer, numbered from 1 in their order."""
        facts = "\n".join(f"{number}. {body(piece)}" for number, piece in enumerate(group, 1))
        label = {"type": "string", "enum": self._allowed}
        keys = [str(number) for number in range(1, len(group) + 1)]
        schema = keyed_schema(dict.fromkeys(keys, label))
        max_tokens = _MAX_TOKENS * (1 + len(group))
        return ChatRequest(messages(self._prompt, example, facts=facts), schema, max_tokens)

    @property
    def _prompt(self) -> str:
        return f"raghalu-{self.labels}-label-v1"

    @property
    def _allowed(self) -> list[str]:
        return list(_SCORES)[: self.labels]

    def _finding(self, piece: Piece, labels: Object, key: str) -> Finding:
        text = read_text(labels, key)
        if isinstance(text, JudgeError):
            return Finding(piece, text)
        label = text.strip().upper().replace("_", "-")
        if label not in self._allowed:
            return Finding(piece, fault_in(f"{text[:40]!r} is none of the labels"))
        return Finding(piece, _SCORES[label], f"was called {label} by the model")
