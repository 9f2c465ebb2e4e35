"""What the sets' readers share: a row in its place, and how labels of yes and no are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from moonlynx.judge.contract.types import MetricInput

from .rows import LabelledInput

Side = Literal["train", "validation", "test"]
SIDES: tuple[Side, ...] = ("train", "validation", "test")


class Placed(NamedTuple):
    """A row, and the side that its set puts it on; None leaves that to the draw."""

    row: LabelledInput
    side: Side | None = None


def row(
    source: str,
    key: str | int,
    labels: bool | Sequence[str],
    *,
    group: str | None = None,
    **fields: Any,
) -> LabelledInput:
    """Build the row `source/key` of these fields of a MetricInput; what is not given is blank.

    `labels` of a boolean metric is whether it is "true". `group` is None where no other row goes
    with this one.
    """
    name = f"{source}/{key}"
    given = {"input": "", "output": ""} | fields
    names = (str(labels).lower(),) if isinstance(labels, bool) else labels
    read = MetricInput.model_validate({"id": name, **given})
    return LabelledInput(read, frozenset(names), name if group is None else group, source)


def letters(text: str) -> str:
    """Return a text's letters and digits alone, in lower case: the same for copies of it."""
    return "".join(filter(str.isalnum, text.casefold()))
