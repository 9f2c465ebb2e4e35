"""TruLens groundedness: each sentence scored from 1 to 10, with the passage that supports it.

As Luna describes it (section 5.2, appendix B): one call for each sentence, whose reply holds the
score and an explanation; here that is the passage itself, looked up in the documents. TruLens takes
the mean over the sentences. In a verdict one unsupported sentence is enough, as everywhere; the
mean can be computed from `sentences`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override

from ...backends.base import ChatReply, ChatRequest
from ...contract.types import Evidence, Example, JudgeError, JudgeInfo, Verdict
from ...prompts import messages
from ...text import Piece
from ..findings import Finding, claims, sentences_verdict
from ..talk import Method, Talk
from .objects import keyed_schema, read_object, read_text, read_whole

PROMPT = "trulens-v1"
LEAST, MOST = 1, 10
SCHEMA = keyed_schema(
    {
        "evidence": {"type": "string"},
        "score": {"type": "integer", "minimum": LEAST, "maximum": MOST},
    }
)
_MAX_TOKENS = 300


@dataclass(frozen=True)
class TruLens(Method):
    """Scores each sentence that claims something by one call.

    A sentence's raw score is (10 - score) / 9, in [0, 1]. A passage that is in no document is
    no evidence; the score stays the model's.
    """

    @property
    @override
    def info(self) -> JudgeInfo:
        return JudgeInfo(name=f"trulens:{self.model}", version=PROMPT)

    @override
    def talk(self, example: Example) -> Talk[Verdict]:
        asked = claims(example)
        replies = yield [
            ChatRequest(messages(PROMPT, example, statement=piece.text), SCHEMA, _MAX_TOKENS)
            for piece in asked
        ]
        findings = [
            _read(piece, reply, example.context)
            for piece, reply in zip(asked, replies, strict=True)
        ]
        return sentences_verdict(example, self.info, findings, self.threshold)


def _read(piece: Piece, reply: ChatReply, documents: Sequence[str]) -> Finding:
    value = read_object(reply)
    score = read_whole(value, "score", LEAST, MOST)
    if isinstance(score, JudgeError):
        return Finding(piece, score)
    quote = read_text(value, "evidence")
    place = None if isinstance(quote, JudgeError) else locate(quote, documents)
    return Finding(
        piece,
        (MOST - score) / (MOST - LEAST),
        f"was given {score} of {MOST} by the model",
        evidence=(place,) if place else (),
    )


def locate(quote: str, documents: Sequence[str]) -> Evidence | None:
    """Find where a document holds the quote, whatever its case and white space; the first such."""
    words = quote.strip(" \t\r\n\"'“”‘’….").split()
    if not words:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE)
    for index, document in enumerate(documents):
        if match := pattern.search(document):
            start, end = match.span()
            return Evidence(document=index, start=start, end=end, relation="support")
    return None
