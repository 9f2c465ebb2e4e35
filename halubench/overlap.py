"""What two texts have in common, as near-duplicates and leaks do, and where they differ."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import NamedTuple

from moonlynx.judge.contract.types import Example

from .records import Edited, QARow

# A number is one piece, with its separators, and so is a word; all else is one piece by itself.
_PIECE = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*|\s+|.", re.DOTALL)

RUN = 13  # words in common that two texts do not share by chance
_SAME_QUESTION = 0.8  # Jaccard index of the words of question and answer
_SAME_CONTEXT = 0.5  # share of the smaller context's runs
_WORD = re.compile(r"[^\W_]+")


def runs(texts: Iterable[str]) -> set[str]:
    """Return every run of RUN words of each text, in lower case, letters and digits only.

    A text of fewer words has none.
    """
    found: set[str] = set()
    for text in texts:
        words = _WORD.findall(text.lower())
        found.update(" ".join(words[at : at + RUN]) for at in range(len(words) - RUN + 1))
    return found


class NearDuplicates:
    """Rows seen so far; tells whether another one is almost the same as one of them.

    Two rows are if their questions and answers hold almost the same words and their contexts
    almost the same text. Rows over one document with different questions are not, nor is one
    question asked of two documents.
    """

    def __init__(self) -> None:
        self._seen: list[tuple[frozenset[str], QARow]] = []
        self._holders: dict[str, list[int]] = defaultdict(list)

    def add(self, row: QARow) -> bool:
        """Add a row unless one like it was seen; return whether it was added."""
        said = frozenset(_WORD.findall(f"{row.question} {row.answer}".lower()))
        if any(self._is_like(said, row, index) for index in self._candidates(said)):
            return False
        for word in said:
            self._holders[word].append(len(self._seen))
        self._seen.append((said, row))
        return True

    def _candidates(self, said: frozenset[str]) -> Iterator[int]:
        # A row that holds the share asked for lacks so few words that it holds one of any few more.
        few = len(said) - int(_SAME_QUESTION * len(said)) + 1
        rarest = sorted(said, key=lambda word: (len(self._holders.get(word, ())), word))[:few]
        yield from {index for word in rarest for index in self._holders.get(word, ())}

    def _is_like(self, said: frozenset[str], row: QARow, index: int) -> bool:
        words, other = self._seen[index]
        if len(said & words) < _SAME_QUESTION * len(said | words):
            return False
        return row.context == other.context or _share(row.context, other.context) >= _SAME_CONTEXT


def _share(one: Sequence[str], other: Sequence[str]) -> float:
    first, second = runs(one), runs(other)
    smaller = min(len(first), len(second))
    return len(first & second) / smaller if smaller else 0.0


class Leaks:
    """The text of test rows; tells whether a training row holds some of it."""

    def __init__(self, examples: Iterable[Example]) -> None:
        self._runs: set[str] = set()
        self._answers: dict[tuple[str, ...], bool] = {}  # by context: many rows share one
        documents: set[str] = set()
        for example in examples:
            documents.update(example.context)
            self._runs |= runs((example.question, example.answer))
        self._runs |= runs(documents)

    def hold(self, row: QARow) -> bool:
        """Return whether the row shares a run of RUN words with a test row."""
        if row.context not in self._answers:
            self._answers[row.context] = not self._runs.isdisjoint(runs(row.context))
        return self._answers[row.context] or not self._runs.isdisjoint(
            runs((row.question, row.answer))
        )


class Difference(NamedTuple):
    """Half-open ranges of two texts that take each other's place; one of them may be empty."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def differences(old: str, new: str) -> list[Difference]:
    """Return the differences in order; two are separated by a word that both texts share."""
    pieces = _PIECE.findall(old), _PIECE.findall(new)
    before, after = ([0, *accumulate(map(len, each))] for each in pieces)
    found: list[Difference] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, *pieces, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        here = Difference(before[i1], before[i2], after[j1], after[j2])
        if found and not old[found[-1].old_end : here.old_start].strip():
            here = Difference(
                found[-1].old_start, here.old_end, found.pop().new_start, here.new_end
            )
        found.append(here)
    return found


def edits_between(old: str, new: str) -> tuple[Edited, ...]:
    """Return the edits that made `new` of `old`; undone, they restore `old`."""
    return tuple(
        Edited(start=each.new_start, end=each.new_end, old=old[each.old_start : each.old_end])
        for each in differences(old, new)
    )
