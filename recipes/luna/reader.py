"""Cuts answers into items: every claim is led in and given its windows by the code that judges."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tokenizers import Tokenizer

from moonlynx.judge.contract.steps import finish
from moonlynx.judge.contract.types import Evidence, Example
from moonlynx.judge.judges.luna.claims import Claim, split_claims
from moonlynx.judge.judges.luna.inputs import Limits
from moonlynx.judge.judges.luna.windows import ClaimWindows, Window, read_claims

from ..data.answers import LabelledAnswer
from ..data.answers.base import overlap
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

        Of an answer of which it is only known that it is wrong, the claims have no labels. Where an
        annotator named the evidence, a claim is an item for each of its windows.
        """
        example = answer.example
        unmarked = answer.label == "FAIL" and not example.spans
        found = self.claims(example)
        unknown = unmarked and len(found) > 1
        marked = [(span.start, span.end) for span in example.spans or ()]
        for claim, windows, new, _ in found:
            own = tuple(
                (max(start, claim.start) - claim.start, min(end, claim.end) - claim.start)
                for start, end in marked
                if start < claim.end and claim.start < end
            )
            wrong = unmarked or bool(own)
            item = Item(
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
            evidence = next(
                (e for start, end, e in answer.evidence if start <= claim.start < end), None
            )
            if evidence is None or len(windows) == 1:
                yield item
            else:
                yield from _by_window(item, windows, evidence)


def _by_window(
    item: Item, windows: Sequence[Window], evidence: Sequence[Evidence]
) -> Iterator[Item]:
    """Yield the item once for each window, supported where that holds all of the evidence.

    The paper's training labels (section 3.2): without evidence, what holds does so in every window.
    Where the evidence is spread over windows, the item stays whole: no window's label is known.
    """
    held = [sum(_holds(window, one) for one in evidence) for window in windows]
    if item.supported and evidence and 0 < max(held) < len(evidence):
        yield item
        return
    for window, found in zip(windows, held, strict=True):
        if item.supported and found < len(evidence):
            whole = ((0, len(item.claim)),)
            yield replace(item, premises=(window.text,), supported=False, spans=whole)
        else:
            yield replace(item, premises=(window.text,))


def _holds(window: Window, evidence: Evidence) -> bool:
    return any(
        block.document == evidence.document
        and overlap((block.start, block.end), (evidence.start, evidence.end))
        for block in window.blocks
    )
