"""What the encoder is trained on: claims with the premises that should or should not hold them."""

from __future__ import annotations

from dataclasses import dataclass

from moonlynx.judge.luna.novelty import NewWord


@dataclass(frozen=True, slots=True)
class Item:
    """A claim and the windows of context it is read with.

    Attributes:
        claim: one sentence.
        premises: the text of each window, at least one. A claim is supported if one of them
            supports it; which one need not be known.
        supported: the claim's label; None where all that is known is that its answer holds a wrong
            claim.
        source: the data set, for the mix and for reports.
        lead: the question and what the answer says before the claim.
        spans: unsupported character ranges of the claim; None where they are not known.
        answer: names that answer, so that its claims are learned from together; "" where the label
            is known.
        belief: P(supported) by another judge, to be learned instead of the label; None without one.
        new: words of the claim that stand nowhere in the documents that the premises are from.
    """

    claim: str
    premises: tuple[str, ...]
    supported: bool | None
    source: str
    lead: str = ""
    spans: tuple[tuple[int, int], ...] | None = None
    answer: str = ""
    belief: float | None = None
    new: tuple[NewWord, ...] = ()
