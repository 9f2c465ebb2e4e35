"""Files of labelled rows: what `label_by_model` or `moonlynx rows` wrote, or rows of one's own."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import ConfigDict

from moonlynx.judge.contract.types import Example, Score
from moonlynx.judge.files.journal import read_records

from ..data.answers.base import LabelledAnswer, group_of
from .label_by_model.questions import Support


class LabelledRow(Example):
    """A row with its label; `support` is there where an annotator named the sentences that hold it.

    Other fields are ignored.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    label: Score
    support: tuple[Support, ...] = ()


def read_labelled(path: Path) -> Iterator[LabelledAnswer]:
    """Read a JSON Lines file of labelled rows, in order; all words of a span count as wrong.

    Raises:
        BadInput: a line is no such row; names line and field.
    """
    for number, row in enumerate(read_records(path, LabelledRow), start=1):
        given = row.model_dump(exclude={"support"}) | {
            "id": row.id or f"{path.stem}/{number}",
            "source": row.source or path.stem,
        }
        yield LabelledAnswer(
            Example.model_validate(given),
            exact=True,
            group=group_of(row.context[0]),
            evidence=tuple((one.start, one.end, one.evidence) for one in row.support),
        )
