"""Labelled sentences as chats: what the judge `raghalu-prompt` asks, and the reply."""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from moonlynx.judge.judges.prompted.raghalu import RagHaluPrompt
from moonlynx.judge.text import Piece

from ...chat.fitting import Chat
from ..brand import BrandSentence
from .settings import DecoderRun

_MOST = 16  # sentences of a prompt


def chats_of(sentences: Sequence[BrandSentence], run: DecoderRun) -> list[tuple[str, Chat]]:
    """Return the chats of a run, each by the number of its first sentence.

    The prompt is the judge's own. The reply has no blanks between JSON's parts, as a server writes
    it that is bound to a schema.
    """
    judge = RagHaluPrompt("", labels=run.labels, sentences=run.sentences)
    numbered = [
        (number, one)
        for number, one in enumerate(sentences, start=1)
        if run.labels == 3 or one.label != "NO_INFO"
    ]
    chats = []
    for group in _groups(numbered, 1 if run.sentences == "one" else _MOST):
        pieces = [Piece(0, len(one.sentence), one.sentence) for _, one in group]
        number, first = group[0]
        (asked,) = judge.request(first.example(), pieces).messages
        labels = {str(n): one.label.replace("_", "-") for n, (_, one) in enumerate(group, start=1)}
        reply = json.dumps(labels, separators=(",", ":"))
        chat = {
            "prompt": [{"role": "user", "content": asked.content}],
            "completion": [{"role": "assistant", "content": reply}],
        }
        chats.append((str(number), chat))
    return chats


def _groups(
    numbered: Sequence[tuple[int, BrandSentence]], most: int
) -> Iterator[list[tuple[int, BrandSentence]]]:
    """Yield sentences that follow each other beside the same documents, at most so many at once."""
    beside = attrgetter("context", "question", "conversation")
    for _, found in groupby(numbered, lambda each: beside(each[1])):
        together = list(found)
        for start in range(0, len(together), most):
            yield together[start : start + most]
