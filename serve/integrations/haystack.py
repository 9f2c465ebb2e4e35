"""Haystack: a component that judges a generator's replies by the documents it was given.

`Pipeline.loads(text, allowed_modules=["moonlynx.serve.integrations.haystack"])` loads a saved
pipeline: Haystack asks that of every component which is not its own.
"""

from typing import Any

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.types import Verdict
from moonlynx.judge.registry import DEFAULT_JUDGE

from .grounding import Grounding, read_example

try:
    from haystack import Document, component, default_to_dict
    from haystack.dataclasses import ChatMessage
except ImportError:
    raise MissingExtra("Haystack", "haystack") from None


@component
class GroundednessJudge:
    """Splits replies by their verdict: `grounded` is passed on, `ungrounded` may be redone.

    Replies that could not be scored are among neither; `verdicts` has one for each reply, in order.
    """

    def __init__(self, judge: str = DEFAULT_JUDGE) -> None:
        """Accept a judge's name, so that pipelines can be saved; `warm_up` loads it."""
        self.judge = judge
        self._grounding: Grounding | None = None

    def warm_up(self) -> None:
        """Load the judge, once."""
        if self._grounding is None:
            self._grounding = Grounding(self.judge)

    def to_dict(self) -> dict[str, Any]:
        """Return what a saved pipeline needs."""
        return dict(default_to_dict(self, judge=self.judge))

    @component.output_types(
        grounded=list[str] | list[ChatMessage],
        ungrounded=list[str] | list[ChatMessage],
        verdicts=list[Verdict],
    )
    def run(
        self,
        replies: list[str] | list[ChatMessage],
        documents: list[Document],
        question: str = "",
    ) -> dict[str, Any]:
        """Judge each reply."""
        self.warm_up()
        assert self._grounding is not None
        context = [document.content or "" for document in documents]
        verdicts = [
            self._grounding.check(read_example(_text(reply), context, question))
            for reply in replies
        ]
        by_score: dict[str | None, list[Any]] = {"PASS": [], "FAIL": [], None: []}
        for reply, verdict in zip(replies, verdicts, strict=True):
            by_score[verdict.score].append(reply)
        return {
            "grounded": by_score["PASS"],
            "ungrounded": by_score["FAIL"],
            "verdicts": verdicts,
        }


def _text(reply: str | ChatMessage) -> str:
    return reply if isinstance(reply, str) else reply.text or ""
