"""Wrong claims made of right ones: their words changed, their support removed, other documents."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from moonlynx.halubench.perturb import KINDS, perturb, remove_support
from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.luna.claims import Claim

from ..data.answers import LabelledAnswer
from ..data.answers.base import as_spans
from .items import Item
from .reader import Reader

_INSERTED = 2  # answers whose documents are inserted, at most
_TRIES = 4  # right answers looked at for one that can be changed, at most

Pair = tuple[Item, Item]
"""A claim as it was, and the same claim gone wrong, or robbed of its support."""

Rows = tuple[Example, Example, str]
"""The row with a claim as it was, the row in which it is wrong, and the source of both."""


class Changes:
    """The ways to make a row wrong in one claim; None where a claim does not take the change."""

    def __init__(self, answers: Sequence[LabelledAnswer], rng: random.Random) -> None:
        self._rng = rng
        self._made: Counter[str] = Counter()
        others: dict[str | None, dict[str, Example]] = {}  # one for each document of each set
        for answer in answers:
            others.setdefault(answer.example.source, {})[answer.group] = answer.example
        self._others = {source: list(found.values()) for source, found in others.items()}

    def perturbed(self, example: Example, claim: Claim) -> Rows | None:
        """Change the claim; the changed characters are the exact label.

        Of the kinds of change that a claim takes, it gets the one made least often so far.
        """
        for kind in sorted(KINDS, key=lambda kind: (self._made[kind], self._rng.random())):
            change = perturb(claim.text, example.context, self._rng, (kind,))
            if change is not None:
                self._made[kind] += 1
                answer = example.answer[: claim.start] + change.text + example.answer[claim.end :]
                span = (claim.start + change.start, claim.start + change.end)
                return example, _wrong(example, span, answer=answer), f"changed:{kind}"
        return None

    def removed(self, example: Example, claim: Claim) -> Rows | None:
        """Remove the documents' support for the claim."""
        context = remove_support(claim.text, example.context)
        if not context or not any(document.strip() for document in context):
            return None
        wrong = _wrong(example, (claim.start, claim.end), context=tuple(context))
        return example, wrong, "removed"

    def shuffled(self, example: Example, claim: Claim) -> Rows | None:
        """Put another answer's documents in the place of its own (the paper's section 3.3)."""
        other = self._rng.choice(self._others[example.source])
        if other.context == example.context:
            return None
        wrong = _wrong(example, (claim.start, claim.end), context=other.context)
        return example, wrong, "shuffled"

    def inserted(self, example: Example, claim: Claim) -> Rows | None:
        """Put other answers' documents among its own, and as many others in their place.

        The paper's insertion and dropping of documents (section 3.3) in one.
        """
        found = self._others[example.source]
        drawn = self._rng.sample(found, min(len(found), 1 + self._rng.randint(1, _INSERTED)))
        foreign = [other.context for other in drawn if other.context != example.context]
        if len(foreign) < 2:
            return None
        alone, *added = foreign
        mixed = [*example.context, *chain(*added)]
        others = [*alone, *chain(*added)]
        self._rng.shuffle(mixed)
        self._rng.shuffle(others)
        right = example.model_copy(update={"context": tuple(mixed), "document_ids": ()})
        return right, _wrong(right, (claim.start, claim.end), context=tuple(others)), "inserted"


def _wrong(
    example: Example,
    span: tuple[int, int],
    *,
    answer: str | None = None,
    context: tuple[str, ...] | None = None,
) -> Example:
    """Return the row with another answer or other documents, and the range that is wrong now."""
    text = example.answer if answer is None else answer
    row = example.model_dump() | {
        "answer": text,
        "context": example.context if context is None else context,
        "document_ids": (),
        "label": "FAIL",
        "spans": as_spans(text, [span]),
    }
    return Example.from_row(row)


def _pair(right: Example, wrong: Example, source: str, claim: Claim, reader: Reader) -> Pair | None:
    """Read both rows; return the claim as it was with the one that the change made wrong.

    Nothing in a claim by itself can tell then which of the two it is. No pair comes of a change
    that splits the claim, or of a claim that was not read.
    """
    rows = [
        LabelledAnswer(row.model_copy(update={"source": source}), exact=True, group="")
        for row in (right, wrong)
    ]
    before = [item for item in reader.items(rows[0]) if item.claim == claim.text]
    changed = [item for item in reader.items(rows[1]) if not item.supported]
    return (before[0], changed[0]) if before and len(changed) == 1 else None


def _claims(
    answers: Sequence[LabelledAnswer], reader: Reader, rng: random.Random, tries: int
) -> Iterator[tuple[Example, Claim]]:
    """Yield claims of right answers at random with their rows, each set as often as the other."""
    by_source: dict[str, list[Example]] = {}
    for answer in answers:
        if answer.label == "PASS":
            by_source.setdefault(answer.example.source or "", []).append(answer.example)
    names = sorted(by_source)
    for _ in range(tries if names else 0):
        example = rng.choice(by_source[rng.choice(names)])
        claim = reader.choose(example, rng)
        if claim is not None:
            yield example, claim


def make(
    kind: str,
    count: int,
    answers: Sequence[LabelledAnswer],
    reader: Reader,
    rng: random.Random,
) -> list[Item]:
    """Make `count` wrong claims of a kind, or as many as a few tries find, and the right ones."""
    changes = Changes(answers, rng)
    change = {
        "perturbed": changes.perturbed,
        "removed": changes.removed,
        "shuffled": changes.shuffled,
        "inserted": changes.inserted,
    }[kind]
    found = (
        _pair(*rows, claim, reader)
        for example, claim in _claims(answers, reader, rng, _TRIES * count)
        if (rows := change(example, claim))
    )
    return list(chain.from_iterable(islice(filter(None, found), count)))
