"""An index as a folder: a JSON file for each document's text and words, and a list of them.

A document's file is named by the hash of its text: what has not changed is never cut again.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from ..contract.types import MoonlynxError, Offset, Record, Text
from ..files.atomic import held, written_whole
from ..files.stored import Sha256, load_record, save_record, sha256_file
from ..text import iter_sentences, stems_of
from ..text.alignment import Alignment
from ..text.flatten import flatten

LIST = "index.json"
_ENDINGS = (".txt", ".md", ".rst", ".html", ".htm", ".json", ".xml", ".csv", ".tsv")
_LONGEST = 800  # characters of a part; longer sentences are cut between words
_A_TOKEN = 4  # characters
_PASSAGE = 60  # tokens


class BrokenIndex(MoonlynxError, ValueError):
    """A folder that cannot be used as an index: what is wrong, and what to do."""


class Part(NamedTuple):
    """A sentence of a document, or a line of a flattened record or table."""

    # its range in the document
    start: int
    end: int
    said: str | None  # the line where it is flattened; None where it is the range itself


class Document(Record):
    """A document as it is stored; `stems` are the words of each part, joined by blanks."""

    schema_version: Literal["1.0"] = "1.0"
    text: Text
    parts: tuple[tuple[Offset, Offset, Text | None], ...]
    stems: tuple[Text, ...]


class Entry(Record):
    """A document of an index: its name, and the SHA-256 of its text and of its file."""

    name: Text
    text: Sha256
    file: Sha256


class Listing(Record):
    """`index.json`; `version` is that of how documents are cut."""

    schema_version: Literal["1.0"] = "1.0"
    version: Literal["1"] = "1"
    documents: tuple[Entry, ...]


class Changes(NamedTuple):
    """How many documents `update` added, replaced, left as they were, and removed."""

    added: int
    updated: int
    kept: int
    removed: int


class Index:
    """Documents by name, with an index of the words of their passages.

    A passage is as many parts side by side as have about 60 tokens: single lines of a page, such as
    a table's cells, are found by what stands around them.

    Attributes:
        version: the beginning of the SHA-256 of its list of documents.
        texts: by name, in order.
        parts: of all documents, in order.
        starts: the first part of each passage, shape (passages + 1,); the last is the end.
        documents: which document each passage is from, by its place in `texts`; shape (passages,).
        lengths: about how many tokens each passage has, shape (passages,).
        alignment: the index of the passages' words.
    """

    def __init__(self, version: str, documents: Mapping[str, Document]) -> None:
        self.version = version
        self.texts = {name: document.text for name, document in documents.items()}
        self.parts: list[Part] = []
        starts, of, lengths, stems = [], [], [], []
        for number, document in enumerate(documents.values()):
            room = -1
            for each, words in zip(document.parts, document.stems, strict=True):
                start, end, said = part = Part(*each)
                length = (end - start if said is None else len(said)) // _A_TOKEN
                if length > room:
                    starts.append(len(self.parts))
                    of.append(number)
                    lengths.append(0)
                    stems.append(set[str]())
                    room = _PASSAGE
                room -= length
                lengths[-1] += length
                stems[-1].update(words.split())
                self.parts.append(part)
        self.starts = np.array([*starts, len(self.parts)], dtype=np.int64)
        self.documents = np.array(of, dtype=np.int64)
        self.lengths = np.array(lengths, dtype=np.int64)
        self.alignment = Alignment(stems, of, lengths)


def read_documents(path: Path) -> Iterator[tuple[str, str]]:
    """Yield name and text of a file, or of each text file in a folder, the hidden ones left out.

    Raises:
        MoonlynxError: there is none, or one that is not UTF-8 text.
    """
    files = [path]
    if path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if _is_text(file.relative_to(path))]
        files = [file for file in files if file.is_file()]
    if not files or not path.exists():
        raise MoonlynxError(
            f"{path}: holds no documents; give a text file, or a folder with files that end in "
            f"{', '.join(_ENDINGS)}"
        )
    for file in files:
        name = file.name if file == path else file.relative_to(path).as_posix()
        name = name.encode("utf-8", "backslashreplace").decode()  # bytes that are no UTF-8
        try:
            yield name, file.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise MoonlynxError(f"{file}: is not UTF-8 text; convert or remove it") from None


def _is_text(file: Path) -> bool:
    return file.suffix.lower() in _ENDINGS and not any(p.startswith(".") for p in file.parts)


def update(folder: Path, texts: Iterator[tuple[str, str]], *, prune: bool = False) -> Changes:
    """Add named documents to an index, or start one; those whose text changed are replaced.

    With `prune`, documents that are not among `texts` are removed.

    Raises:
        BrokenIndex: the folder holds something else.
        InUse: another process is writing it.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        _list_of(folder)  # or it is none of ours
    folder.mkdir(parents=True, exist_ok=True)
    with held(folder / LIST):
        old = {e.name: e for e in _list_of(folder).documents} if (folder / LIST).exists() else {}
        by_text = {entry.text: entry for entry in old.values()}
        found: dict[str, Entry] = {}
        for name, text in texts:
            content = hashlib.sha256(text.encode("utf-8")).hexdigest()
            known = by_text.get(content)
            if known is None or not _is_whole(folder, known):
                known = by_text[content] = _store(folder, content, text)
            found[name] = known.model_copy(update={"name": name})
        changes = Changes(
            added=len(found.keys() - old.keys()),
            updated=sum(name in old and old[name].text != one.text for name, one in found.items()),
            kept=sum(name in old and old[name].text == one.text for name, one in found.items()),
            removed=len(old.keys() - found.keys()) if prune else 0,
        )
        entries = found if prune else old | found
        with written_whole(folder / LIST) as draft:
            save_record(Listing(documents=tuple(entries.values())), draft)
        for gone in {e.text for e in old.values()} - {e.text for e in entries.values()}:
            _file_of(folder, gone).unlink(missing_ok=True)
    return changes


def load_index(folder: Path) -> Index:
    """Load an index.

    Raises:
        BrokenIndex: the folder is none, or a file of it is missing or not as it was written.
    """
    listing = _list_of(folder)
    advice = f"build it anew by moonlynx index DOCS {folder}"
    documents = {}
    for entry in listing.documents:
        file = _file_of(folder, entry.text)
        if not _is_whole(folder, entry):
            raise BrokenIndex(f"{file}: is missing or has changed since it was written; {advice}")
        documents[entry.name] = load_record(file, Document, BrokenIndex, advice)
    if not documents:
        raise BrokenIndex(f"{folder}: the index holds no documents; {advice}")
    return Index(sha256_file(folder / LIST)[:12], documents)


def _list_of(folder: Path) -> Listing:
    advice = "give a folder that moonlynx index has written, or an empty one to write to"
    return load_record(folder / LIST, Listing, BrokenIndex, advice)


def _file_of(folder: Path, content: str) -> Path:
    return folder / f"{content}.json"


def _is_whole(folder: Path, entry: Entry) -> bool:
    file = _file_of(folder, entry.text)
    return file.is_file() and sha256_file(file) == entry.file


def _store(folder: Path, content: str, text: str) -> Entry:
    parts = list(_cut(text))
    document = Document(
        text=text,
        parts=tuple(parts),
        stems=tuple(" ".join(stems_of(part.said or text[part.start : part.end])) for part in parts),
    )
    file = _file_of(folder, content)
    with written_whole(file) as draft:
        draft.write_text(document.model_dump_json(), encoding="utf-8")
    return Entry(name="", text=content, file=sha256_file(file))


def _cut(text: str) -> Iterator[Part]:
    flat = flatten(text)
    for piece in iter_sentences(text) if flat is None else flat:
        start, end, said = piece.start, piece.end, piece.text
        if said != text[start:end]:
            yield Part(start, end, said)
            continue
        while end - start > _LONGEST:
            gap = text.rfind(" ", start + _LONGEST // 2, start + _LONGEST)
            cut = gap if gap > 0 else start + _LONGEST
            yield Part(start, cut, None)
            start = cut + (gap > 0)
        if text[start:end].strip():
            yield Part(start, end, None)
