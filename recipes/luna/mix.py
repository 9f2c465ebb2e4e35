"""Stage 2: claims of real answers with their documents, and the wrong claims made from right ones.

Every claim is cut, led in and given its windows by the code that judges (`judge/luna/windows`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from tokenizers import Tokenizer

from moonlynx.halubench.perturb import KINDS, perturb, remove_support
from moonlynx.judge.luna.claims import Claim, split_claims
from moonlynx.judge.luna.reading import Limits
from moonlynx.judge.luna.windows import ClaimWindows, read_claims
from moonlynx.judge.types import Example

from ..runs import SettingsError
from .answers import LabelledAnswer
from .answers.judged import read_judged
from .items import Item
from .licences import SOURCES
from .made import HELD_OUT_SCHEMAS, MadeAnswer, generate
from .mixes import Mix
from .pairs import PAIR_SETS, load_pairs
from .settings import Stage

_INVENTED = 0.3  # share of changes that may be an invented clause: any claim can have one
_FACTS = tuple(kind for kind in KINDS if kind != "invented-clause")
_RIGHT_PER_WRONG = 2.5  # claims of one set
_TRIES = 4  # right answers looked at for one that can be changed, at most


class Reader:
    """Cuts answers into items as the judge would read them."""

    def __init__(self, tokenizer: Tokenizer, limits: Limits, windows: int) -> None:
        self._tokenizer = tokenizer
        self._limits = limits
        self._windows = windows

    def claims(self, example: Example) -> list[ClaimWindows]:
        """Give the claims of the answer that are read, with their windows."""
        found = read_claims(
            example.question,
            example.answer,
            example.context,
            self._tokenizer,
            self._limits,
            self._windows,
        )
        return [claim for claim in found if claim.windows]

    def choose(self, example: Example, rng: random.Random) -> Claim | None:
        """Choose one of the claims that are read; the documents are not looked at."""
        found = split_claims(example.question, example.answer, self._tokenizer, self._limits)
        read = [claim for claim in found if not claim.empty]
        return rng.choice(read) if read else None

    def items(self, answer: LabelledAnswer) -> Iterator[Item]:
        """Give an item for each claim.

        Of an answer of which it is only known that it is wrong, the claims have no labels.
        """
        example = answer.example
        unmarked = example.label == "FAIL" and not example.spans
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
            )


def check_stage(stage: Stage, mix: Mix) -> None:
    """Hold the stage to sets that there are and that the mix allows.

    Raises:
        SettingsError: it names another one.
    """
    pairs = tuple(n for n in PAIR_SETS if SOURCES[n].shipped or mix.name == "research")
    for field, allowed in (("pairs", pairs), ("answers", mix.answers), ("right", mix.right)):
        for name in getattr(stage, field):
            if name not in allowed:
                raise SettingsError(
                    f"{field}: {name} is not in the mix {mix.name!r}: {', '.join(allowed)}"
                )


def stage_items(stage: Stage, mix: Mix, root: Path, reader: Reader, seed: int) -> list[Item]:
    """Read and make all that a stage is trained on.

    Raises:
        DataNotFound: a set is not at `root`.
        SettingsError: the stage names a set that the mix does not allow.
        VerdictsOfOthers: verdicts to learn from are not of their rows.
    """
    check_stage(stage, mix)
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
    right += [row for rows in answers.values() for row in rows if row.example.label == "PASS"]
    for kind, count in stage.changed.items():
        items += make(kind, count, right, reader, rng)
    items += _balance(_read(list(_made(stage.made, seed)), reader, None, rng), None, rng)
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
    """Give a made answer the form of a read one."""
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


def _balance(items: list[Item], most: int | None, rng: random.Random) -> list[Item]:
    """Keep at most so many items (None: any number), and not too many more right than wrong."""
    rng.shuffle(items)
    wrong = [item for item in items if item.supported is False]
    unknown: dict[str, list[Item]] = {}
    for item in items:
        if item.supported is None:
            unknown.setdefault(item.answer, []).append(item)
    of_wrong = len(wrong) + len(unknown)
    right = [item for item in items if item.supported][: round(_RIGHT_PER_WRONG * of_wrong)]
    kept = [*wrong, *right]
    rng.shuffle(kept)
    kept = kept[:most]
    for claims in unknown.values():  # an answer's claims come all or not at all
        if most is None or len(kept) + len(claims) <= most:
            kept += claims
    return kept


def perturbed(
    answers: Sequence[LabelledAnswer], reader: Reader, rng: random.Random, tries: int
) -> Iterator[Item]:
    """Change right claims so that they become wrong; the changed characters are the exact label."""
    for example in _right(answers, rng, tries):
        claim = reader.choose(example, rng)
        if claim is None:
            continue
        kinds = KINDS if rng.random() < _INVENTED else _FACTS
        change = perturb(claim.text, example.context, rng, kinds)
        if change is None:
            continue
        answer = example.answer[: claim.start] + change.text + example.answer[claim.end :]
        span = (claim.start + change.start, claim.start + change.end)
        yield from _changed(example, reader, f"changed:{change.kind}", answer=answer, span=span)


def without_support(
    answers: Sequence[LabelledAnswer], reader: Reader, rng: random.Random, tries: int
) -> Iterator[Item]:
    """Take from the documents what holds a right claim."""
    for example in _right(answers, rng, tries):
        claim = reader.choose(example, rng)
        if claim is None:
            continue
        context = remove_support(claim.text, example.context)
        if context and any(document.strip() for document in context):
            span = (claim.start, claim.end)
            yield from _changed(example, reader, "removed", context=tuple(context), span=span)


def shuffled(
    answers: Sequence[LabelledAnswer], reader: Reader, rng: random.Random, tries: int
) -> Iterator[Item]:
    """Give answers the documents of others (the paper's augmentation, section 4.3)."""
    others = list({answer.group: answer.example for answer in answers}.values())
    for example in _right(answers, rng, tries):
        other = rng.choice(others)
        claim = reader.choose(example, rng)
        if claim is not None and other.context != example.context:
            span = (claim.start, claim.end)
            yield from _changed(example, reader, "shuffled", context=other.context, span=span)


def _changed(
    example: Example,
    reader: Reader,
    source: str,
    *,
    span: tuple[int, int],
    answer: str | None = None,
    context: tuple[str, ...] | None = None,
) -> Iterator[Item]:
    """Read the changed row again, and keep the claim that the change made wrong."""
    start, end = span
    text = example.answer if answer is None else answer
    row = example.model_dump() | {
        "answer": text,
        "context": example.context if context is None else context,
        "label": "FAIL",
        "spans": [{"start": start, "end": end, "text": text[start:end]}],
        "source": source,
    }
    changed = LabelledAnswer(Example.from_row(row), exact=True, group="")
    yield from (item for item in reader.items(changed) if not item.supported)


def _right(answers: Sequence[LabelledAnswer], rng: random.Random, tries: int) -> Iterator[Example]:
    """Give right answers at random, each set as often as the other."""
    by_source: dict[str, list[Example]] = {}
    for answer in answers:
        if answer.example.label == "PASS":
            by_source.setdefault(answer.example.source or "", []).append(answer.example)
    names = sorted(by_source)
    for _ in range(tries if names else 0):
        yield rng.choice(by_source[rng.choice(names)])


Maker = Callable[[Sequence[LabelledAnswer], Reader, random.Random, int], Iterator[Item]]
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
    """Make `count` wrong claims of a kind from right answers, or as many as come of a few tries."""
    return list(islice(_MAKERS[kind](answers, reader, rng, _TRIES * count), count))
