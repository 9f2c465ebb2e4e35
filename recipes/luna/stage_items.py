"""What a stage is trained on: pairs, answers, wrong claims made of right ones, synthetic data."""

import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.luna.novelty import new_words
from moonlynx.judge.text import stems_of

from ..data.answers import LabelledAnswer
from ..data.answers.base import as_spans
from ..data.answers.judged import read_judged
from ..data.exclusions import load_exclusions
from ..data.mixes import Mix
from ..data.pair_sets import PAIR_SETS, Label, Pair
from ..data.passages import generate as generate_plain
from ..data.synthetic import HELD_OUT_SCHEMAS, SyntheticAnswer, generate
from ..data.wording import changed_words
from .changes import make
from .items import Item
from .labelled import read_labelled
from .reader import Reader
from .settings import Stage

_RIGHT_PER_WRONG = 2.5  # claims of one set


def stage_items(stage: Stage, mix: Mix, root: Path, reader: Reader, seed: int) -> list[Item]:
    """Read and make all that a stage is trained on.

    Raises:
        DataNotFound: a set is not at `root`.
        SettingsError: the stage names a set that the mix does not allow.
        VerdictsOfOthers: verdicts to learn from are not of their rows.
        BadInput: a file of labelled rows has a line that is none.
    """
    mix.check(stage.pairs, stage.answers, stage.right)
    rng = random.Random(seed)  # noqa: S311 - chance, not secrecy
    items = load_pairs(root, stage.pairs, seed) if stage.pairs else []
    answers = {name: mix.training(name, root) for name in stage.answers}
    for name, cap in stage.answers.items():
        items += _balance(_read(answers[name], reader, None, rng), cap or None, rng)
    for judged in stage.judged:
        rows = list(read_judged(Path(judged.rows), Path(judged.verdicts)))
        items += _read(rows, reader, judged.most or None, rng)
    files = {name: list(read_labelled(Path(name))) for name in stage.labelled}
    for name, most in stage.labelled.items():
        items += _read(files[name], reader, most or None, rng)
    right = [row for name in stage.right for row in mix.training_right(name, root)]
    items += _read(right, reader, stage.right_claims, rng)
    given = chain(*answers.values(), *files.values())
    right += [row for row in given if row.label == "PASS"]
    for kind, count in stage.changed.items():
        items += make(kind, count, right, reader, rng)
    plain = [row for pair in generate_plain(stage.plain, seed) for row in pair]
    items += _read(plain, reader, None, rng)
    synthetic = [
        labelled_synthetic(row, number)
        for number, row in enumerate(generate(stage.synthetic, seed))
        if row.schema not in HELD_OUT_SCHEMAS
    ]
    items += _balance(_read(synthetic, reader, None, rng), None, rng, right_per_wrong=1.0)
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


def labelled_synthetic(row: SyntheticAnswer, number: int) -> LabelledAnswer:
    """Return a synthetic answer in the form of a read one."""
    spans = [span for sentence in row.sentences for span in sentence.spans]
    example = {
        "id": f"made/{number}",
        "question": row.question,
        "context": row.context,
        "answer": row.answer,
        "label": "FAIL" if spans else "PASS",
        "spans": as_spans(row.answer, sorted(spans)),
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


_CONTRADICTED: Mapping[Label, bool] = {"contradicted": True, "not_mentioned": False}


def load_pairs(root: Path, caps: Mapping[str, int], seed: int) -> list[Item]:
    """Read the sets named in `caps`, at most so many pairs of each, as many supported as not.

    An encoder that was never taught to read a claim against a text stays at chance on long answers;
    on short pairs it learns at once.

    Raises:
        DataNotFound: a set is not at `root`.
    """
    exclusions = load_exclusions(root)
    rng = random.Random(seed)  # noqa: S311 - chance, not secrecy
    items: list[Item] = []
    for name, cap in caps.items():
        pairs = list(PAIR_SETS[name](root, exclusions, rng))
        rng.shuffle(pairs)
        sides = [
            _take(name, (pair for pair in pairs if (pair.label == "supported") is side), cap // 2)
            for side in (True, False)
        ]
        most = min(map(len, sides))
        items += [item for side in sides for item in side[:most]]
    rng.shuffle(items)
    return items


def _take(source: str, pairs: Iterable[Pair], most: int) -> list[Item]:
    """Take at most so many different items."""
    taken: dict[Item, None] = {}
    for pair in pairs:
        if len(taken) == most:
            break
        item = _item(source, pair)
        if item is not None:
            taken[item] = None
    return list(taken)


def _item(source: str, pair: Pair) -> Item | None:
    premise = pair.premise if isinstance(pair.premise, str) else pair.premise()
    premise, claim = " ".join(premise.split()), " ".join(pair.claim.split())
    if len(claim) < 4 or len(premise) < 4:
        return None
    supported = pair.label == "supported"
    wrong_words = None if pair.right is None else changed_words(pair.right, claim)
    return Item(
        claim,
        (premise,),
        supported,
        source,
        spans=() if supported else wrong_words,
        new=new_words(claim, set(stems_of(premise))),
        contradicted=_CONTRADICTED.get(pair.label),
    )
