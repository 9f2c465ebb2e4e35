"""Answers over documents: adherence from the grounding sets, relevance of documents and answers."""

import random
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from ...data.answers import LabelledAnswer, load, load_right
from ...data.answers.base import XQUAD, read_csv, read_json, read_squad
from ...data.exclusions import load_exclusions
from ...data.mixes import UNSEEN, Mix
from .rows import Placed, Side, letters, place
from .splits import draw_side

_SEED = 5
_HALVING_SEED = 6  # not Luna's own, by which these documents were drawn for validation
_ANSWERS = ("fetaqa", "pubmedqa", "covid_qa")
_TRIES = 40  # other answers looked at for the one nearest in length
_QNLI = "nli_small/qnli__dev.csv"
_NO_ANSWER = "No Answer Present."
_WORD = re.compile(r"\w+")
_LEAST = 6  # letters of what a pronoun takes up: not a preposition alone
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
    for number, question, sentence, answers, group in _qnli(root):
        yield place("qnli", number, answers, group=group, input=question, context=sentence)


def sentences(root: Path) -> Iterator[Placed]:
    """Read QNLI's sentences as answers: one that does not answer stays with the subject.

    Groups are those of `questions`.
    """
    for number, question, sentence, answers, group in _qnli(root):
        yield place("qnli", number, answers, group=group, input=question, output=sentence)


def pronouns(root: Path) -> Iterator[Placed]:
    """Yield those of `sentences` that repeat words of the question, with a pronoun in their place.

    People take the question's subject up so; both kinds of sentence are changed alike.
    """
    for number, question, sentence, answers, group in _qnli(root):
        if (changed := _take_up(question, sentence)) is not None:
            key = "qnli-pronouns", number
            yield place(*key, answers, group=group, input=question, output=changed)


def _take_up(question: str, sentence: str) -> str | None:
    """Put a pronoun for the longest run of words that the sentence shares with the question."""
    said = list(_WORD.finditer(sentence))
    asked = [word.casefold() for word in _WORD.findall(question)]
    words = [word[0].casefold() for word in said]
    _, first, size = SequenceMatcher(None, asked, words, autojunk=False).find_longest_match()
    if size == 0:
        return None
    start, end = said[first].start(), said[first + size - 1].end()
    if end - start < _LEAST:
        return None
    return sentence[:start] + ("It" if start == 0 else "it") + sentence[end:]


def bare(root: Path) -> Iterator[Placed]:
    """Yield XQuAD's questions with their bare answer and with that of another on the paragraph.

    A question that QNLI asks too is of its group.
    """
    rng = random.Random(_SEED)  # noqa: S311 - chance, not secrecy
    groups = {letters(question): group for _, question, _, _, group in _qnli(root)}
    for _, paragraph in read_squad(root / XQUAD):
        asked = paragraph["qas"]
        texts = {each["id"]: each["answers"][0]["text"] for each in asked}
        for each in asked:
            question, right = each["question"], texts[each["id"]]
            others = [t for t in texts.values() if t not in right and right not in t]
            own = groups.get(letters(question), letters(paragraph["context"]))
            if others:
                name = "xquad", each["id"]
                yield from _pair(name, question, right, rng.choice(others), group=own)


def _qnli(root: Path) -> Iterator[tuple[int, str, str, bool, str]]:
    """Yield each row's number, question and sentence, whether that answers, and their group."""
    left_out = load_exclusions(root).get(f"{_QNLI}: row index from 0", frozenset())
    rows = [
        (number, fields["premise"], fields["hypothesis"], fields["label"] == "entailment")
        for number, fields in enumerate(read_csv(root / _QNLI))
        if str(number) not in left_out
    ]
    groups = _joined([(question, sentence) for _, question, sentence, _ in rows])
    for row, group in zip(rows, groups, strict=True):
        yield *row, f"qnli:{group}"


def passages(root: Path) -> Iterator[Placed]:
    """Yield MS MARCO's queries with the chosen passage and one of the others, all for testing.

    The texts' terms allow research only. A passage that was not chosen may answer the query all the
    same: the label is weak.
    """
    for key, query, passage, chosen in _marco(root):
        fields = {"input": query, "context": passage}
        yield place("ms_marco", key, chosen, group=letters(query), side="test", **fields)


def passages_as_answers(root: Path) -> Iterator[Placed]:
    """Yield the rows of `passages` with the passage as the answer."""
    for key, query, passage, chosen in _marco(root):
        fields = {"input": query, "output": passage}
        yield place("ms_marco", key, chosen, group=letters(query), side="test", **fields)


def _marco(root: Path) -> Iterator[tuple[str, str, str, bool]]:
    """Yield a key, a query and a passage, and whether it was chosen."""
    rng = random.Random(_SEED)  # noqa: S311 - chance, not secrecy
    for key, row in _marco_rows(root):
        found = row["passages"]
        chosen = dict(zip(found["passage_text"], found["is_selected"], strict=True))
        texts = {kind: [t for t, is_it in chosen.items() if is_it == kind] for kind in (1, 0)}
        if all(texts.values()):
            for kind, options in texts.items():
                yield f"{key}-{kind}", row["query"], rng.choice(options), bool(kind)


def written(root: Path) -> Iterator[Placed]:
    """Yield MS MARCO's queries with a person's answer and with that to another query."""
    rng = random.Random(_SEED)  # noqa: S311 - chance, not secrecy
    asked = [(key, row["query"], row["answers"][0]) for key, row in _marco_rows(root)]
    asked = [each for each in asked if each[2] not in ("", _NO_ANSWER)]
    for key, query, right in asked:
        other = rng.choice([answer for _, _, answer in asked if answer != right])
        where = {"group": letters(query), "side": "test"}
        yield from _pair(("ms_marco-answers", key), query, right, other, **where)


def _marco_rows(root: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a key and a row of each query that may be used."""
    exclusions = load_exclusions(root)
    for name in _MARCO:
        left_out = exclusions.get(f"{name}: row index from 0", frozenset())
        for number, each in enumerate(read_json(root / "ms_marco_relevance" / name)["rows"]):
            if str(number) not in left_out:
                yield f"{name}-{number}", each["row"]


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
                example, other = answer.example, _other(answer, answers, rng)
                key = name, str(example.id).partition("/")[2]
                where = {"group": answer.group, "side": side}
                yield from _pair(key, example.question, example.answer, other, **where)


def _pair(
    name: tuple[str, str], question: str, right: str, other: str, **where: Any
) -> Iterator[Placed]:
    """Yield a question with the right answer and with another; `name` is set and key."""
    source, key = name
    for relevant, text in ((True, right), (False, other)):
        own = f"{key}-{'own' if relevant else 'other'}"
        yield place(source, own, relevant, input=question, output=text, **where)


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
