"""Answers over documents: adherence from the grounding sets, relevance of documents and answers."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...data.answers import LabelledAnswer, load, load_right
from ...data.answers.base import read_csv, read_json
from ...data.exclusions import load_exclusions
from ...data.mixes import UNSEEN, Mix
from .rows import Placed, Side, letters, place
from .splits import draw_side

_SEED = 5
_HALVING_SEED = 6  # not Luna's own, by which these documents were drawn for validation
_ANSWERS = ("fetaqa", "pubmedqa", "covid_qa")
_TRIES = 40  # other answers looked at for the one nearest in length
_QNLI = "nli_small/qnli__dev.csv"
_MARCO = tuple(f"ms_marco_train_v2.1_{number}.json" for number in range(1, 6))


def adherence(root: Path) -> Iterator[Placed]:
    """Read the answers that Luna is trained and validated on, on the sides of its own split.

    Luna's validation rows are split by document, most for testing; its own threshold was fitted on
    all of them. What Luna never saw, the sets in `UNSEEN`, is for testing.
    """
    mix = Mix("shipped")
    for name in mix.answers:
        for answer in mix.training(name, root):
            yield _adherent(answer, "train")
    for answers in mix.validation(root).values():
        for answer in answers:
            drawn = draw_side(answer.group, _HALVING_SEED)
            yield _adherent(answer, "test" if drawn == "train" else "validation")
    for name in UNSEEN:
        for answer in load(name, root):
            yield _adherent(answer, "test")


def _adherent(answer: LabelledAnswer, side: Side) -> Placed:
    example = answer.example
    return place(
        example.source or "",
        str(example.id).partition("/")[2],
        answer.label == "PASS",
        group=answer.group,
        side=side,
        input=example.question,
        output=example.answer,
        context=example.context,
    )


def questions(root: Path) -> Iterator[Placed]:
    """Read QNLI's questions with a sentence that answers them or one beside it (context relevance).

    Rows that share a question or a sentence, through others too, are of one group.
    """
    left_out = load_exclusions(root).get(f"{_QNLI}: row index from 0", frozenset())
    rows = [
        (number, fields["premise"], fields["hypothesis"], fields["label"] == "entailment")
        for number, fields in enumerate(read_csv(root / _QNLI))
        if str(number) not in left_out
    ]
    groups = _joined([(question, sentence) for _, question, sentence, _ in rows])
    for (number, question, sentence, relevant), group in zip(rows, groups, strict=True):
        key = f"qnli:{group}"
        yield place("qnli", number, relevant, group=key, input=question, context=sentence)


def passages(root: Path) -> Iterator[Placed]:
    """Yield MS MARCO's queries with the chosen passage and one of the others, all for testing.

    The texts' terms allow research only. A passage that was not chosen may answer the query all the
    same: the label is weak.
    """
    rng = random.Random(_SEED)  # noqa: S311 - chance, not secrecy
    exclusions = load_exclusions(root)
    for name in _MARCO:
        left_out = exclusions.get(f"{name}: row index from 0", frozenset())
        for number, each in enumerate(read_json(root / "ms_marco_relevance" / name)["rows"]):
            found = each["row"]["passages"]
            chosen = dict(zip(found["passage_text"], found["is_selected"], strict=True))
            texts = {kind: [t for t, is_it in chosen.items() if is_it == kind] for kind in (1, 0)}
            if str(number) in left_out or not all(texts.values()):
                continue
            query = each["row"]["query"]
            for kind, options in texts.items():
                fields = {"input": query, "context": rng.choice(options)}
                key = f"{name}-{number}-{kind}"
                group = letters(query)
                yield place("ms_marco", key, bool(kind), group=group, side="test", **fields)


def answered(root: Path) -> Iterator[Placed]:
    """Yield questions with their own answer and with another of their set (answer relevance).

    The other answer is one near in length to the right one and on the same side of the split, so
    that neither length nor an answer alone tells the two apart.
    """
    rng = random.Random(_SEED)  # noqa: S311 - chance, not secrecy
    for name in _ANSWERS:
        sides: dict[Side, list[LabelledAnswer]] = {}
        for answer in load_right(name, root):
            sides.setdefault(draw_side(answer.group, _SEED), []).append(answer)
        for side, answers in sides.items():
            for answer in answers:
                question, key = answer.example.question, str(answer.example.id)
                right = answer.example.answer
                for relevant, text in ((True, right), (False, _other(answer, answers, rng))):
                    fields = {"input": question, "output": text}
                    own = f"{key.partition('/')[2]}-{'own' if relevant else 'other'}"
                    yield place(name, own, relevant, group=answer.group, side=side, **fields)


def _other(answer: LabelledAnswer, answers: Sequence[LabelledAnswer], rng: random.Random) -> str:
    """Return another document's answer, of some at random the one nearest in length."""
    others = [each for each in rng.choices(answers, k=_TRIES) if each.group != answer.group]
    length = len(answer.example.answer)
    return min((each.example.answer for each in others), key=lambda text: abs(len(text) - length))


def _joined(pairs: Sequence[tuple[str, str]]) -> list[int]:
    """Number the pairs so that those with a part in common, through others too, are alike."""
    parents: dict[str, str] = {}

    def root_of(name: str) -> str:
        while (parent := parents.setdefault(name, name)) != name:
            parents[name] = parents[parent]
            name = parents[name]
        return name

    for first, second in pairs:
        parents[root_of(f"q:{first}")] = root_of(f"s:{second}")
    numbers: dict[str, int] = {}
    return [numbers.setdefault(root_of(f"q:{first}"), len(numbers)) for first, _ in pairs]
