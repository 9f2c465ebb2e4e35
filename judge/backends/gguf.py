"""GGUF files: where one is, and what its header says of the model, its template and its tokens."""

import glob
import re
import struct
from pathlib import Path
from typing import Any, BinaryIO

from ..prompts import break_chat_tokens
from .base import BackendError
from .hub import repository, split_revision
from .local import find_folder, find_model

_STRING, _ARRAY = 8, 9
_NUMBERS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))
_UNKNOWN, _CONTROL, _USER_DEFINED = 2, 3, 4  # kinds of tokens
_FIRST_PART = re.compile(r"-00001-of-(?=\d{5}\.gguf\Z)")


def is_gguf(model: str) -> bool:
    """Return whether a model's name is that of a GGUF file, here or on the Hub."""
    return split_revision(model)[0].endswith(".gguf")


def find_gguf(backend: str, model: str | None) -> Path:
    """Return the file that `model` names: a path, or ORG/REPO/FILE.gguf[@REVISION] of the Hub.

    A file in parts is named by its first, and the others are downloaded with it.

    Raises:
        SpecError: no model is named.
        BackendError: there is no such file here, and none that can be downloaded.
    """
    path = Path(find_model(backend, model))
    if path.is_file():
        return path
    if path.is_dir():
        raise BackendError(f"{path} is a folder; name the .gguf file in it")
    name, revision = split_revision(str(model))
    inside = _inside(name)
    if inside == name or not name.endswith(".gguf"):
        raise BackendError(f"there is no file {path}; a file of the Hub is ORG/REPO/FILE.gguf")
    place = f"{repository(name)}@{revision}" if revision else repository(name)
    folder = find_folder(backend, place, [_FIRST_PART.sub("-*-of-", inside)])
    if not (folder / inside).is_file():
        raise BackendError(f"{place} has no file {inside}, or it is not in the cache")
    return folder / inside


def parts_of(path: Path) -> list[Path]:
    """Return all files of a model, of which the first is given."""
    return sorted(path.parent.glob(_FIRST_PART.sub("-*-of-", glob.escape(path.name))))


def is_here(model: str) -> bool:
    """Return whether the GGUF file that `model` names is a path here, or downloaded already."""
    from huggingface_hub import try_to_load_from_cache

    if Path(model).is_file():
        return True
    name, revision = split_revision(model)
    found = try_to_load_from_cache(repository(name), _inside(name), revision=revision)
    return isinstance(found, str)


def read_header(path: Path) -> dict[str, Any]:
    """Return the fields of a GGUF file's header by name.

    Raises:
        BackendError: it is not a GGUF file, or its header is broken.
    """
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise BackendError(f"{path} is not a GGUF file")
        try:
            _version, _tensors, fields = struct.unpack("<IQQ", _take(file, 20))
            return {_string(file): _value(file, _number(file, "I")) for _ in range(fields)}
        except (EOFError, KeyError, UnicodeDecodeError, RecursionError, OverflowError) as error:
            raise BackendError(f"{path}: the GGUF header is broken: {error!r}") from error


def special_tokens(header: dict[str, Any]) -> list[str]:
    """Return the tokens that llama.cpp would read as control tokens within a message.

    Some that a file says are the user's own it takes for control tokens by their names.
    """
    tokens = header.get("tokenizer.ggml.tokens", [])
    kinds = header.get("tokenizer.ggml.token_type", [])
    return [
        token
        for token, kind in zip(tokens, kinds, strict=False)
        if kind in (_UNKNOWN, _CONTROL)
        or (kind == _USER_DEFINED and break_chat_tokens(token) != token)
    ]


def bos_token(header: dict[str, Any]) -> str:
    """Return the token that a text begins with; empty where there is none."""
    tokens = header.get("tokenizer.ggml.tokens", [])
    place = header.get("tokenizer.ggml.bos_token_id", len(tokens))
    return str(tokens[place]) if place < len(tokens) else ""


def _inside(name: str) -> str:
    """Return a file's path in its repository; of a name of none, the name."""
    return name.removeprefix(f"{repository(name)}/")


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind != _ARRAY:
        return _number(file, _NUMBERS[kind])
    inner, count = _number(file, "I"), _number(file, "Q")
    if inner in _NUMBERS:
        form = f"<{count}{_NUMBERS[inner]}"
        return struct.unpack(form, _take(file, count * struct.calcsize(f"<{_NUMBERS[inner]}")))
    return [_value(file, inner) for _ in range(count)]


def _number(file: BinaryIO, form: str) -> Any:
    return struct.unpack(f"<{form}", _take(file, struct.calcsize(f"<{form}")))[0]


def _string(file: BinaryIO) -> str:
    return _take(file, _number(file, "Q")).decode()


def _take(file: BinaryIO, size: int) -> bytes:
    # A broken length may be of any size: read no more than a header can have.
    found = file.read(size) if size < 1 << 28 else b""
    if len(found) != size:
        raise EOFError(f"{size} bytes are not there")
    return found
