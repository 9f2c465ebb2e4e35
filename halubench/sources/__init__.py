"""The six question sets that HaluBench is made of, by their names in its `source_ds`.

One module a source; each opens with its paper, licence, place on the Hub and what becomes of its
fields.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ..records import QARow
from . import covid_qa, drop, financebench, halueval, pubmedqa, ragtruth
from .base import Folder, Hub, Source, SourceError, SourceMissing, Split
from .hub import read_hub

__all__ = ["SOURCES", "Source", "SourceError", "SourceMissing", "Split", "read_source"]

SOURCES: Mapping[str, Source] = {
    module.NAME: module.SOURCE
    for module in (financebench, drop, covid_qa, pubmedqa, halueval, ragtruth)
}


def read_source(source: Source, split: Split, data: Path | None) -> list[QARow]:
    """Read the rows of a split that may be used for it, from the Hub without `data`.

    Raises:
        SourceMissing: it is not there, or has no such split.
        SourceError: it cannot be read, is damaged or of another version.
        MissingExtra: the Hub without the package `datasets`.
    """
    if split not in source.hub:
        raise SourceMissing(f"{source.name} is held out: nothing is trained on it")
    if data is not None:
        return _checked(source, source.read_folder(Folder(data), split))
    return _checked(source, _from_hub(source, source.hub[split]))


def _from_hub(source: Source, hub: Hub) -> Iterator[QARow]:
    rows, origin = read_hub(hub)
    yield from source.read_hub(rows, origin)


def _checked(source: Source, rows: Iterable[QARow]) -> list[QARow]:
    """Gather the rows that can be judged; name a field that is not as it is known."""
    try:
        return [row for row in rows if row.answer.strip() and any(map(str.strip, row.context))]
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        message = f"a row is not laid out as is known ({error!r}); was the file changed?"
        raise SourceError(f"{source.name}: {message}") from error
