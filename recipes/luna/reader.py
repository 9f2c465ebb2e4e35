"""Cuts answers into items: every claim is led in and given its windows by the code that judges."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tokenizers import Tokenizer

from moonlynx.judge.contract.steps import finish
from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.luna.claims import Claim, split_claims
from moonlynx.judge.judges.luna.inputs import Limits
from moonlynx.judge.judges.luna.windows import ClaimWindows, read_claims

from ..data.answers import LabelledAnswer
from .items import Item


class Reader:
    """Cuts answers into items as the judge would read them."""

    def __init__(self, tokenizer: Tokenizer, limits: Limits, windows: int) -> None:
        self._tokenizer = tokenizer
        self._limits = limits
        self._windows = windows

    def claims(self, example: Example) -> list[ClaimWindows]:
        """Return the claims of the answer that are read, with their windows."""
        found = finish(
            read_claims(
                example.question,
                example.answer,
                example.context,
                self._tokenizer,
                self._limits,
                self._windows,
            )
        )
        return [claim for claim in found if claim.windows]

    def choose(self, example: Example, rng: random.Random) -> Claim | None:
        """Choose one of the claims that are read; the documents are not looked at."""
        found = split_claims(example.question, example.answer, self._tokenizer, self._limits)
        read = [claim for claim in found if not claim.empty]
        return rng.choice(read) if read else None

    def items(self, answer: LabelledAnswer) -> Iterator[Item]:
        """Yield an item for each claim.

        Of an answer of which it is only known that it is wrong, the claims have no labels.
        """
        example = answer.example
        unmarked = answer.label == "FAIL" and not example.spans
        found = self.claims(example)
        unknown = unmarked and len(found) > 1
        marked = [(span.start, span.end) for span in example.spans or ()]
        for claim, windows, new in found:
            own = tuple(
                (max(start, claim.start) - claim.start, min(end, claim.end) - claim.start)
                for start, end in marked
                if start < claim.end and claim.start < end
            )
            wrong = unmarked or bool(own)
            yield Item(
                claim.text,
                tuple(window.text for window in windows),
                supported=None if unknown else not wrong,
                source=example.source or "",
                lead=claim.lead,
                spans=own if not wrong or (own and answer.exact) else None,
                answer=str(example.id) if unknown else "",
                belief=next(
                    (p for start, end, p in answer.beliefs if start <= claim.start < end), None
                ),
                new=new,
                contradicted=answer.contradicted if wrong else None,
            )
