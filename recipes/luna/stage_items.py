"""Stage 2: claims of real answers with their documents, and the wrong claims made from right ones.

Every claim is cut, led in and given its windows by the code that judges (`judges/luna/windows`).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from tokenizers import Tokenizer

from moonlynx.halubench.perturb import KINDS, perturb, remove_support
from moonlynx.judge.contract.steps import finish
from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.luna.claims import Claim, split_claims
from moonlynx.judge.judges.luna.inputs import Limits
from moonlynx.judge.judges.luna.windows import ClaimWindows, read_claims

from ..data.answers import LabelledAnswer
from ..data.answers.judged import read_judged
from ..data.mixes import Mix
from ..data.passages import generate as generate_plain
from ..data.synthetic import HELD_OUT_SCHEMAS, MadeAnswer, generate
from .items import Item
from .pairs import load_pairs
from .settings import Stage

_RIGHT_PER_WRONG = 2.5  # claims of one set
_TRIES = 4  # right answers looked at for one that can be changed, at most


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


def stage_items(stage: Stage, mix: Mix, root: Path, reader: Reader, seed: int) -> list[Item]:
    """Read and make all that a stage is trained on.

    Raises:
        DataNotFound: a set is not at `root`.
        SettingsError: the stage names a set that the mix does not allow.
        VerdictsOfOthers: verdicts to learn from are not of their rows.
    """
    mix.check(stage.pairs, stage.answers, stage.right)
    rng = random.Random(seed)  # noqa: S311 - chance, not secrecy
    items = load_pairs(root, stage.pairs, seed) if stage.pairs else []
    answers = {name: mix.training(name, root) for name in stage.answers}
    for name, cap in stage.answers.items():
        items += _balance(_read(answers[name], reader, None, rng), cap or None, rng)
    for files in stage.judged:
        rows = list(read_judged(Path(files.rows), Path(files.verdicts)))
        items += _read(rows, reader, files.most or None, rng)
    right = [row for name in stage.right for row in mix.training_right(name, root)]
    items += _read(right, reader, stage.right_claims, rng)
    right += [row for rows in answers.values() for row in rows if row.label == "PASS"]
    for kind, count in stage.changed.items():
        items += make(kind, count, right, reader, rng)
    plain = [row for pair in generate_plain(stage.plain, seed) for row in pair]
    items += _read(plain, reader, None, rng)
    made = _read(list(_made(stage.made, seed)), reader, None, rng)
    items += _balance(made, None, rng, right_per_wrong=1.0)
    rng.shuffle(items)
    return items


def _read(
    rows: Sequence[LabelledAnswer], reader: Reader, most: int | None, rng: random.Random
) -> list[Item]:
    """Read rows in random order until there are `most` items; None reads all.

    Rows over one document come one after the other, so that it is cut into blocks once.
    """
    groups: dict[str, list[LabelledAnswer]] = {}
    for row in rng.sample(rows, len(rows)):
        groups.setdefault(row.group, []).append(row)
    in_order = chain.from_iterable(groups.values())
    return list(islice(chain.from_iterable(map(reader.items, in_order)), most))


def _made(count: int, seed: int) -> Iterator[LabelledAnswer]:
    for number, row in enumerate(generate(count, seed)):
        if row.schema not in HELD_OUT_SCHEMAS:
            yield labelled_made(row, number)


def labelled_made(row: MadeAnswer, number: int) -> LabelledAnswer:
    """Return a synthetic answer in the form of a read one."""
    spans = [span for sentence in row.sentences for span in sentence.spans]
    example = {
        "id": f"made/{number}",
        "question": row.question,
        "context": row.context,
        "answer": row.answer,
        "label": "FAIL" if spans else "PASS",
        "spans": [{"start": a, "end": b, "text": row.answer[a:b]} for a, b in sorted(spans)],
        "source": f"made:{row.schema}",
    }
    return LabelledAnswer(Example.from_row(example), exact=True, group=f"made/{number}")


def _balance(
    items: list[Item],
    most: int | None,
    rng: random.Random,
    right_per_wrong: float = _RIGHT_PER_WRONG,
) -> list[Item]:
    """Keep at most so many items (None: any number), and not too many more right than wrong."""
    rng.shuffle(items)
    wrong = [item for item in items if item.supported is False]
    unknown: dict[str, list[Item]] = {}
    for item in items:
        if item.supported is None:
            unknown.setdefault(item.answer, []).append(item)
    of_wrong = len(wrong) + len(unknown)
    right = [item for item in items if item.supported][: round(right_per_wrong * of_wrong)]
    kept = [*wrong, *right]
    rng.shuffle(kept)
    kept = kept[:most]
    for claims in unknown.values():  # an answer's claims come all or not at all
        if most is None or len(kept) + len(claims) <= most:
            kept += claims
    return kept


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
    """Yield claims with their own and with another answer's documents (the paper's section 4.3)."""
    others: dict[str, dict[str, Example]] = {}
    for answer in answers:
        others.setdefault(answer.example.source or "", {})[answer.group] = answer.example
    choices = {name: list(found.values()) for name, found in others.items()}
    for example, claim in _claims(answers, reader, rng, tries):
        other = rng.choice(choices[example.source or ""])
        if other.context != example.context:
            wrong = _wrong(example, (claim.start, claim.end), context=other.context)
            yield from _beside(example, claim, wrong, "shuffled", reader)


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
