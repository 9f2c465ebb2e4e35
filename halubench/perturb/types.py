"""What a perturbation is: an edit of a text that makes it say what its context does not."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple, TypeAlias, get_args

from .source import Source

Kind = Literal[
    "number",
    "unit",
    "date",
    "entity",
    "negation",
    "comparative",
    "quantifier",
    "yes-no",
    "list-swap",
    "invented-clause",
    "fused",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

# How often drafts were refused, by kind and reason.
Rejections: TypeAlias = Counter[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Change:
    """One verified edit of a text.

    Always `text[start:end] == new`, and `text[:start] + old + text[end:]` is the text before it.
    """

    text: str  # the text after the change
    kind: Kind  # which rule made it
    start: int  # where the changed, now unsupported characters begin in `text`
    end: int  # where they end
    old: str  # the text that was there before; empty where something was inserted
    new: str  # the text that is there now


class Edit(NamedTuple):
    """A half-open range of the text before the change, and what takes its place."""

    start: int
    end: int
    new: str

    def moved(self, by: int) -> "Edit":
        """Return the edit of a text that has so many characters before this one."""
        return Edit(self.start + by, self.end + by, self.new)


@dataclass(frozen=True, slots=True)
class Draft:
    """A change that a rule proposes, yet to be verified; its edits rise and do not overlap."""

    kind: Kind
    edits: tuple[Edit, ...]


Rule: TypeAlias = Callable[[str, Source, Random], Iterator[Draft]]
