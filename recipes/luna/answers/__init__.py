"""Answers with labels and documents, for stage 2 and for validation. Nothing test only is read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ..exclusions import Exclusions, load_exclusions
from .base import LabelledAnswer
from .rag import read_qa_feedback, read_ragtruth
from .records import QUINTD_KINDS, read_e2e, read_quintd, read_rotowire
from .summaries import read_frank, read_summedits

__all__ = ["SETS", "LabelledAnswer", "load", "split"]

Reader = Callable[[Path, Exclusions], Iterator[LabelledAnswer]]

SETS: Mapping[str, Reader] = {
    "ragtruth_train_part": read_ragtruth,
    "qa_feedback": read_qa_feedback,
    "frank": read_frank,
    "summedits": read_summedits,
    **{f"quintd-{kind}": read_quintd(kind) for kind in QUINTD_KINDS},
    "rotowire_accuracy": read_rotowire,
    "e2e_cleaned": read_e2e,
}


def load(name: str, root: Path) -> list[LabelledAnswer]:
    """Read a set of `SETS` from the data folder, without the rows that share text with a test set.

    Raises:
        ValueError: no set is called so.
        DataNotFound: the folder lacks the set's files or the list of rows to leave out.
    """
    if name not in SETS:
        raise ValueError(f"no set of answers is called {name!r}; known: {', '.join(SETS)}")
    return list(SETS[name](root, load_exclusions(root)))


def split(
    rows: Sequence[LabelledAnswer], share: float, seed: int
) -> tuple[list[LabelledAnswer], list[LabelledAnswer]]:
    """Split rows into training and validation, whole groups together.

    Args:
        rows: of any sets.
        share: of the groups, rounded, that are for validation.
        seed: another seed chooses other groups.
    """
    groups = sorted({row.group for row in rows}, key=lambda group: _draw(group, seed))
    held = set(groups[: round(share * len(groups))])
    return (
        [row for row in rows if row.group not in held],
        [row for row in rows if row.group in held],
    )


def _draw(group: str, seed: int) -> str:
    return hashlib.sha256(f"{seed}:{group}".encode()).hexdigest()
