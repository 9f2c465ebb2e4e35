"""Wrong claims made of right ones: their words changed, their support removed, other documents."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice

from moonlynx.halubench.perturb import KINDS, perturb, remove_support
from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.luna.claims import Claim

from ..data.answers import LabelledAnswer
from .items import Item
from .reader import Reader

_INSERTED = 2  # answers whose documents are inserted, at most
_TRIES = 4  # right answers looked at for one that can be changed, at most

Pair = tuple[Item, Item]
"""A claim as it was, and the same claim gone wrong, or robbed of its support."""


def perturbed(
    answers: Sequence[LabelledAnswer], reader: Reader, rng: random.Random, tries: int
) -> Iterator[Pair]:
    """Yield right claims with changed, wrong ones; the changed characters are the exact label.

    Of the kinds of change that a claim takes, it gets the one made least often so far.
    """
    made: Counter[str] = Counter()
    for example, claim in _claims(answers, reader, rng, tries):
        for kind in sorted(KINDS, key=lambda kind: (made[kind], rng.random())):
            change = perturb(claim.text, example.context, rng, (kind,))
            if change is not None:
                made[kind] += 1
                answer = example.answer[: claim.start] + change.text + example.answer[claim.end :]
                span = (claim.start + change.start, claim.start + change.end)
                wrong = _wrong(example, span, answer=answer)
                yield from _beside(example, claim, wrong, f"changed:{kind}", reader)
                break


def without_support(
    answers: Sequence[LabelledAnswer], reader: Reader, rng: random.Random, tries: int
) -> Iterator[Pair]:
    """Yield right claims with and without the documents' support for them."""
    for example, claim in _claims(answers, reader, rng, tries):
        context = remove_support(claim.text, example.context)
        if context and any(document.strip() for document in context):
            wrong = _wrong(example, (claim.start, claim.end), context=tuple(context))
            yield from _beside(example, claim, wrong, "removed", reader)


def shuffled(
    answers: Sequence[LabelledAnswer], reader: Reader, rng: random.Random, tries: int
) -> Iterator[Pair]:
    """Yield claims with their own and with another answer's documents (the paper's section 3.3)."""
    choices = _by_source(answers)
    for example, claim in _claims(answers, reader, rng, tries):
        other = rng.choice(choices[example.source or ""])
        if other.context != example.context:
            wrong = _wrong(example, (claim.start, claim.end), context=other.context)
            yield from _beside(example, claim, wrong, "shuffled", reader)


def inserted(
    answers: Sequence[LabelledAnswer], reader: Reader, rng: random.Random, tries: int
) -> Iterator[Pair]:
    """Yield claims with other answers' documents among their own, and with as many others alone.

    The paper's insertion and dropping of documents (section 3.3) in one.
    """
    choices = _by_source(answers)
    for example, claim in _claims(answers, reader, rng, tries):
        found = choices[example.source or ""]
        drawn = rng.sample(found, min(len(found), 1 + rng.randint(1, _INSERTED)))
        foreign = [other.context for other in drawn if other.context != example.context]
        if len(foreign) > 1:
            alone, *added = foreign
            mixed = [*example.context, *chain(*added)]
            others = [*alone, *chain(*added)]
            rng.shuffle(mixed)
            rng.shuffle(others)
            right = example.model_copy(update={"context": tuple(mixed), "document_ids": ()})
            wrong = _wrong(right, (claim.start, claim.end), context=tuple(others))
            yield from _beside(right, claim, wrong, "inserted", reader)


def _by_source(answers: Sequence[LabelledAnswer]) -> dict[str, list[Example]]:
    """Return an answer to each document of each set."""
    others: dict[str, dict[str, Example]] = {}
    for answer in answers:
        others.setdefault(answer.example.source or "", {})[answer.group] = answer.example
    return {name: list(found.values()) for name, found in others.items()}


def _wrong(
    example: Example,
    span: tuple[int, int],
    *,
    answer: str | None = None,
    context: tuple[str, ...] | None = None,
) -> Example:
    """Return the row with another answer or other documents, and the range that is wrong now."""
    start, end = span
    text = example.answer if answer is None else answer
    row = example.model_dump() | {
        "answer": text,
        "context": example.context if context is None else context,
        "document_ids": (),
        "label": "FAIL",
        "spans": [{"start": start, "end": end, "text": text[start:end]}],
    }
    return Example.from_row(row)


def _beside(
    example: Example, claim: Claim, wrong: Example, source: str, reader: Reader
) -> Iterator[Pair]:
    """Read both rows, and yield the claim as it was with the one that the change made wrong.

    Nothing in a claim by itself can tell then which of the two it is. No pair comes of a change
    that splits the claim, or of a claim that was not read.
    """
    rows = [
        LabelledAnswer(row.model_copy(update={"source": source}), exact=True, group="")
        for row in (example, wrong)
    ]
    right = [item for item in reader.items(rows[0]) if item.claim == claim.text]
    changed = [item for item in reader.items(rows[1]) if not item.supported]
    if right and len(changed) == 1:
        yield right[0], changed[0]


def _claims(
    answers: Sequence[LabelledAnswer], reader: Reader, rng: random.Random, tries: int
) -> Iterator[tuple[Example, Claim]]:
    """Yield claims of right answers at random, with their rows."""
    for example in _right(answers, rng, tries):
        claim = reader.choose(example, rng)
        if claim is not None:
            yield example, claim


def _right(answers: Sequence[LabelledAnswer], rng: random.Random, tries: int) -> Iterator[Example]:
    """Yield right answers at random, each set as often as the other."""
    by_source: dict[str, list[Example]] = {}
    for answer in answers:
        if answer.label == "PASS":
            by_source.setdefault(answer.example.source or "", []).append(answer.example)
    names = sorted(by_source)
    for _ in range(tries if names else 0):
        yield rng.choice(by_source[rng.choice(names)])


Maker = Callable[[Sequence[LabelledAnswer], Reader, random.Random, int], Iterator[Pair]]
_MAKERS: dict[str, Maker] = {
    "perturbed": perturbed,
    "removed": without_support,
    "shuffled": shuffled,
    "inserted": inserted,
}


def make(
    kind: str,
    count: int,
    answers: Sequence[LabelledAnswer],
    reader: Reader,
    rng: random.Random,
) -> list[Item]:
    """Make `count` wrong claims of a kind, or as many as a few tries find, and the right ones."""
    pairs = islice(_MAKERS[kind](answers, reader, rng, _TRIES * count), count)
    return list(chain.from_iterable(pairs))
