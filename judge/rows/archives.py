"""Read compressed files in pieces, so that none fills the memory."""

import io
import zlib
from bz2 import BZ2Decompressor
from collections.abc import Callable, Iterator
from gzip import GzipFile
from lzma import LZMADecompressor, LZMAError
from typing import Any, BinaryIO

from ..backends.base import MissingExtra
from ..contract.types import BadInput

_BLOCK = 1 << 18
_XZ_MEMORY = 256 << 20  # the format lets an archive ask for 4 GiB

# The first bytes of each format, by its suffix.
MAGIC = {
    ".gz": b"\x1f\x8b",
    ".bz2": b"BZh",
    ".xz": b"\xfd7zXZ\0",
    ".zst": b"\x28\xb5\x2f\xfd",
}


def unpack(file: BinaryIO, ending: str) -> io.BufferedReader:
    """Return what a compressed file holds; `ending` says how it is compressed.

    Reading from it raises BadInput where the archive is damaged or cut off, and MissingExtra for
    .zst without pyarrow.
    """
    return io.BufferedReader(_Unpacked(_UNPACKERS[ending](file), ending), _BLOCK)


class _Unpacked(io.RawIOBase):
    """The bytes of an archive, decompressed on demand."""

    def __init__(self, blocks: Iterator[bytes], kind: str) -> None:
        self._blocks = blocks
        self._kind = kind.removeprefix(".")
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            self._rest = self._rest or next(self._blocks, b"")
        except EOFError:
            message = f"the {self._kind} archive ends in the middle; was it copied whole?"
            raise BadInput("bad_input", "row", message) from None
        except (OSError, zlib.error, LZMAError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            message = f"the {self._kind} archive is damaged ({error})"
            raise BadInput("bad_input", "row", message) from None
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _gunzip(file: BinaryIO) -> Iterator[bytes]:
    with GzipFile(fileobj=file) as archive:
        while block := archive.read(_BLOCK):
            yield block


def _decompress(file: BinaryIO, new: Callable[[], Any]) -> Iterator[bytes]:
    """Yield the streams of a bz2 or xz file, one after another."""
    decoder, data = new(), b""
    while True:
        if decoder.eof:
            data = (decoder.unused_data or file.read(_BLOCK)).lstrip(b"\0")  # xz pads with zeros
            if not data:
                return
            decoder = new()
        elif decoder.needs_input and not (data := file.read(_BLOCK)):
            raise EOFError
        if block := decoder.decompress(data, _BLOCK):
            yield block
        data = b""


def _unzstd(file: BinaryIO) -> Iterator[bytes]:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra("Reading .zst", "data") from None
    with pyarrow.CompressedInputStream(pyarrow.PythonFile(file, "r"), "zstd") as archive:
        while block := archive.read(_BLOCK):
            yield block


_UNPACKERS: dict[str, Callable[[BinaryIO], Iterator[bytes]]] = {
    ".gz": _gunzip,
    ".bz2": lambda file: _decompress(file, BZ2Decompressor),
    ".xz": lambda file: _decompress(file, lambda: LZMADecompressor(memlimit=_XZ_MEMORY)),
    ".zst": _unzstd,
}
