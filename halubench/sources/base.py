"""What a source is, the files of a data folder that it is read from, and rows to leave out."""

import gzip
import hashlib
import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from moonlynx.judge.contract.types import MoonlynxError

from ..records import Provenance, QARow

FILE = "exclude_from_training.json"

Split = Literal["test", "train"]
RawRow = Mapping[str, Any]


def read_exclusions(root: Path) -> Mapping[str, frozenset[str]]:
    """Read the rows to leave out, by the file's own keys; ids and row indexes as strings.

    Raises:
        FileNotFoundError: the file is not at `root`. Without it nothing may be trained.
    """
    sections = json.loads((root / FILE).read_text(encoding="utf-8"))
    merged: dict[str, set[str]] = defaultdict(set)
    for section in sections.values():
        if isinstance(section, dict):
            for key, rows in section.items():
                merged[key].update(map(str, rows))
    return {key: frozenset(rows) for key, rows in merged.items()}


class SourceError(MoonlynxError):
    """A source cannot be read; says which file or dataset, and how to fix it."""


class SourceMissing(SourceError):
    """A source is not there; a benchmark can still be built of the others."""


@dataclass(frozen=True)
class Origin:
    """A file or a dataset's split that was read; fields as in `Provenance`."""

    file: str
    sha256: str
    licence: str
    revision: str | None = None

    def at(self, row: str | int) -> Provenance:
        """Return the provenance of one of its rows."""
        return Provenance(row=str(row), **vars(self))


class DataFile(NamedTuple):
    """A file of a data folder."""

    path: str  # below the folder; a copy with `.gz` after its name is read as well
    sha256: str | None  # of its content, unzipped; None where it is not known
    licence: str  # as stated by its publishers


class Hub(NamedTuple):
    """A dataset's split on the Hub."""

    id: str  # of the dataset; a folder that holds a copy of it is read as well
    split: str  # as the dataset calls it
    licence: str  # as stated by its publishers
    config: str | None = None  # name of its configuration; None where it has but one
    # commit or branch; None for the newest, whose commit goes into the provenance
    revision: str | None = None


@dataclass(frozen=True)
class Folder:
    """A folder of data files."""

    root: Path

    def read(self, file: DataFile) -> tuple[str, Origin]:
        """Read a file's text.

        Raises:
            SourceMissing: it is not there.
            SourceError: it is not the file that is known by this name, or is damaged.
        """
        plain = self.root / file.path
        zipped = plain.with_name(plain.name + ".gz")
        if not (plain.is_file() or zipped.is_file()):
            raise SourceMissing(f"{file.path} (or {zipped.name}) is not in the data folder")
        path = plain if plain.is_file() else zipped
        try:
            content = path.read_bytes() if path is plain else gzip.decompress(path.read_bytes())
            text = content.decode("utf-8")
        except (EOFError, UnicodeDecodeError, gzip.BadGzipFile, zlib.error) as error:
            raise SourceError(f"{path}: is damaged ({error}); fetch it again") from None
        found = hashlib.sha256(content).hexdigest()
        if file.sha256 not in (None, found):
            raise SourceError(
                f"{path}: has the SHA-256 {found}, but {file.sha256} was expected; it is damaged "
                "or of another version: fetch it again"
            )
        return text, Origin(file.path, found, file.licence)

    def read_json(self, file: DataFile) -> tuple[Any, Origin]:
        """Read a file that is one JSON value. Raises as `read`."""
        text, origin = self.read(file)
        try:
            return json.loads(text), origin
        except ValueError as error:
            raise SourceError(f"{file.path}: is not JSON ({error}); fetch it again") from None

    def read_lines(self, file: DataFile) -> tuple[list[Any], Origin]:
        """Read a file of one JSON value a line. Raises as `read`."""
        text, origin = self.read(file)
        rows = []
        for number, line in enumerate(text.split("\n"), start=1):  # a text may hold U+2028
            if not line:
                continue
            try:
                rows.append(json.loads(line))
            except ValueError as error:
                message = f"line {number} is not JSON ({error}); fetch it again"
                raise SourceError(f"{file.path}: {message}") from None
        return rows, origin

    def left_out(self, key: str) -> frozenset[str]:
        """Return the rows that no training set may hold, as strings, by the list's own key.

        Raises:
            SourceError: the folder has no such list. Without it nothing may be trained.
        """
        return self._exclusions.get(key, frozenset())

    @cached_property
    def _exclusions(self) -> Mapping[str, frozenset[str]]:
        try:
            return read_exclusions(self.root)
        except FileNotFoundError as error:
            message = "names the rows that no training set may hold; without it none is built"
            raise SourceError(f"{error.filename}: is missing; it {message}") from None


@dataclass(frozen=True)
class Source:
    """A question set that HaluBench draws on."""

    name: str  # as in HaluBench's `source_ds`
    title: str  # paper and place of publication
    # its rows come with hallucinated answers and labels; else with faithful answers only, and
    # hallucinated ones have to be made of them
    labelled: bool
    hub: Mapping[Split, Hub]  # where each split is on the Hub
    read_folder: Callable[[Folder, Split], Iterator[QARow]]  # reads a split from a data folder
    # turns the rows of a dataset of `hub` into ours
    read_hub: Callable[[Iterable[RawRow], Origin], Iterator[QARow]]
    note: str = ""  # what is known to be missing from the public files; "" if nothing


def make_row(source: str, key: str | int, group: object, origin: Origin, **fields: Any) -> QARow:
    """Return the row `source/key`, of the group `source/group`."""
    return QARow(
        id=f"{source}/{key}",
        source=source,
        group=f"{source}/{group}",
        **{"provenance": origin.at(key)} | fields,
    )


def digest(text: str) -> str:
    """Return an id of a text: twenty hexadecimal digits of its SHA-256, letters and digits only."""
    letters = "".join(filter(str.isalnum, text.casefold()))
    return hashlib.sha256(letters.encode("utf-8")).hexdigest()[:20]
