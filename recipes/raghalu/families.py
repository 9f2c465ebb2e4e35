"""Sentences that claim something and sentences that do not, written for this project in families.

A family is one construction ("offers to draft something"), with sentences of both labels, so that
only what is said separates them. `sentences/*.yaml` holds one family to a key; README.md
says how they were written. The split goes by family and is fixed in those files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Annotated, Literal, NamedTuple, get_args

import yaml
from pydantic import Field, TypeAdapter, ValidationError

from moonlynx.judge.contract.types import MoonlynxError, Record

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
LEAST = 600  # sentences of either label
LEAST_FAMILIES = 40
OVERLAP = 0.25  # of the runs of five words of two sentences, at most, where their splits differ
_RUN = 5  # words
_WORD = re.compile(r"\w+(?:['’]\w+)*")


class FaultyFamilies(MoonlynxError, ValueError):
    """The sentences break a rule that what is measured on them rests on; names file or sentence."""


class Sentence(NamedTuple):
    """One sentence.

    Attributes:
        text: as an answer would hold it.
        verifiable: whether documents could support or contradict it; False is NO-INFO.
        style: the file that it is from, such as "offers".
        family: the key that it is from.
        split: that of its family.
    """

    text: str
    verifiable: bool
    style: str
    family: str
    split: Split


class _Family(Record):
    """A key of a file: its sentences by label, one to a line."""

    split: Split
    no_info: Annotated[str, Field(min_length=1)]
    verifiable: Annotated[str, Field(min_length=1)]


_Families = TypeAdapter(dict[str, _Family])


def load_families() -> list[Sentence]:
    """Read all sentences, in the order of the files, and check them by the rules of `check`.

    Raises:
        FaultyFamilies: a file does not have the form of a family, or the sentences break a rule.
    """
    sentences: list[Sentence] = []
    folder = files(__package__).joinpath("sentences")
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        style = file.name.removesuffix(".yaml")
        try:
            families = _Families.validate_python(yaml.safe_load(file.read_text(encoding="utf-8")))
        except (ValidationError, yaml.YAMLError) as error:
            raise FaultyFamilies(f"{file.name} does not hold families: {error}") from None
        for name, family in families.items():
            for verifiable, text in ((False, family.no_info), (True, family.verifiable)):
                lines = (line.strip() for line in text.splitlines())
                sentences += [
                    Sentence(line, verifiable, style, name, family.split) for line in lines if line
                ]
    check(sentences)
    return sentences


def of_split(sentences: Iterable[Sentence], split: Split) -> list[Sentence]:
    """Return the sentences of one split, in their order."""
    return [sentence for sentence in sentences if sentence.split == split]


def check(sentences: Sequence[Sentence]) -> None:
    """Check the rules that the measurements rest on.

    At least `LEAST` of either label, of at least `LEAST_FAMILIES` families; no family in two
    splits; no sentence twice; no two of different splits that share more than `OVERLAP` of the
    runs of five words of the one that has fewer.

    Raises:
        FaultyFamilies: names what breaks which rule.
    """
    for name, label in (("NO-INFO", False), ("VERIFIABLE", True)):
        count = sum(sentence.verifiable == label for sentence in sentences)
        if count < LEAST:
            raise FaultyFamilies(f"{count} {name} sentences, and at least {LEAST} are needed")
    splits: dict[str, Split] = {}
    for sentence in sentences:
        if splits.setdefault(sentence.family, sentence.split) != sentence.split:
            raise FaultyFamilies(f"the family {sentence.family!r} is in two splits")
    if len(splits) < LEAST_FAMILIES:
        raise FaultyFamilies(f"{len(splits)} families, and at least {LEAST_FAMILIES} are needed")
    folded = Counter(" ".join(_words(sentence.text)) for sentence in sentences)
    if twice := [text for text, count in folded.items() if count > 1]:
        raise FaultyFamilies(f"in the files more than once: {twice[0]!r}")
    _check_runs(sentences)


def _check_runs(sentences: Sequence[Sentence]) -> None:
    """Raise for sentences of different splits that share too many runs of words."""
    runs = [_runs(sentence.text) for sentence in sentences]
    holders: dict[tuple[str, ...], list[int]] = {}
    for index, own in enumerate(runs):
        for run in own:
            holders.setdefault(run, []).append(index)
    for index, own in enumerate(runs):
        shared = Counter(other for run in own for other in holders[run] if other > index)
        for other, count in shared.items():
            fewer = min(len(own), len(runs[other]))
            one, two = sentences[index], sentences[other]
            if one.split != two.split and count > OVERLAP * fewer:
                raise FaultyFamilies(f"too much alike for two splits: {one.text!r}, {two.text!r}")


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    """Return the runs of five words; a shorter text is one run."""
    words = _words(text)
    last = max(1, len(words) - _RUN + 1)
    return frozenset(tuple(words[start : start + _RUN]) for start in range(last))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("’", "'"))
