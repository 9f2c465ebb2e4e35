"""Sentences that claim something and sentences that do not, written for this project in families.

A family is one construction ("offers to draft something"), with sentences of both labels, so that
only what is said separates them. `sentences/*.yaml` holds one family to a key; README.md
says how they were written. The split goes by family and is fixed in those files.
"""

from collections.abc import Iterable
from importlib.resources import files
from typing import Annotated, Literal, NamedTuple

import yaml
from pydantic import Field, TypeAdapter

from moonlynx.judge.contract.types import Record

Split = Literal["train", "validation", "test"]


class Sentence(NamedTuple):
    """One sentence, as an answer would hold it."""

    text: str
    verifiable: bool  # whether documents could support or contradict it; False is NO-INFO
    style: str  # the file that it is from, such as "offers"
    family: str  # the key that it is from, which has one split
    split: Split


class _Family(Record):
    """A key of a file: its sentences by label, one to a line."""

    split: Split
    no_info: Annotated[str, Field(min_length=1)]
    verifiable: Annotated[str, Field(min_length=1)]


_Families = TypeAdapter(dict[str, _Family])


def load_families() -> list[Sentence]:
    """Read all sentences, in the order of the files."""
    sentences: list[Sentence] = []
    folder = files(__package__).joinpath("sentences")
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        style = file.name.removesuffix(".yaml")
        families = _Families.validate_python(yaml.safe_load(file.read_text(encoding="utf-8")))
        for name, family in families.items():
            for verifiable, text in ((False, family.no_info), (True, family.verifiable)):
                lines = (line.strip() for line in text.splitlines())
                sentences += [
                    Sentence(line, verifiable, style, name, family.split) for line in lines if line
                ]
    return sentences


def of_split(sentences: Iterable[Sentence], split: Split) -> list[Sentence]:
    """Return the sentences of one split, in their order."""
    return [sentence for sentence in sentences if sentence.split == split]
