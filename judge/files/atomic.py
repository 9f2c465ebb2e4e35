"""Files that are written whole or not at all, or by one process at a time; and where they are."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from socket import gethostname

from ..contract.types import MoonlynxError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_FAR = 1 << 30  # Windows keeps others from reading what is locked: a byte behind the text
_LONGEST = 200  # bytes of the text that says who holds a file
_held: set[int] = set()


class InUse(MoonlynxError, RuntimeError):
    """Another process is writing the file."""


class Unusable(MoonlynxError, ValueError):
    """A path that cannot be what an option asks for."""


def keep_apart(files: Mapping[str, Path | None]) -> None:
    """Refuse two options that name one regular file, by whatever path or link.

    Raises:
        Unusable: names the two.
    """
    given = [(option, path) for option, path in files.items() if path is not None]
    for (option, one), (other, two) in combinations(given, 2):
        if _are_one_file(one, two):
            name = option.removeprefix("--")
            raise Unusable(f"{option} and {other} are the same file; choose another {name}.")


def _are_one_file(one: Path, two: Path) -> bool:
    if one.exists() and two.exists():
        return one.samefile(two) and one.is_file()
    return one.resolve() == two.resolve()


def beside(output: Path, ending: str) -> Path:
    """Return the path of a file that belongs beside an output, under its name and an ending.

    Raises:
        Unusable: the output is no regular file, such as /dev/null: nothing belongs beside it.
    """
    if output.exists() and not output.is_file():
        raise Unusable(
            f"--output {output} is no regular file, beside which *{ending} would be written; "
            "choose another output."
        )
    return output.with_name(output.name + ending)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write a file or folder to, which takes its name at the end.

    A killed run leaves a partial file, and no `path`; the next one overwrites it. For one
    process at a time. What is no regular file, such as /dev/null, is written to as it is.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        yield path
        return
    draft = path.with_name(f"{path.name}.part")
    yield draft
    draft.replace(path)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Lock a file for this process alone; the lock ends with the process.

    The lock is on `PATH.run.lock`. The file's folder is created if it is missing.

    Raises:
        InUse: the file is held already; says by which process, where and since when.
        OSError: the lock file cannot be written, or the file system has no locks.
    """
    real = path.resolve()
    real.parent.mkdir(parents=True, exist_ok=True)
    lock = real.with_name(f"{real.name}.run.lock")
    descriptor = _take(lock)
    if descriptor is None:
        raise InUse(
            f"{path} is being written by {_holder(lock)}; wait for it to end or stop it, or choose "
            "another --output"
        )
    _held.add(descriptor)
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"process {os.getpid()} on {gethostname()} since {since}".encode())
    try:
        yield
    finally:
        if descriptor in _held:  # else this is a child of the process that holds the file
            _release(descriptor, lock)


def _take(lock: Path) -> int | None:
    """Open and lock a file; None where another has it locked."""
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o666)
        try:
            taken = _try_lock(descriptor)
            if taken and os.fstat(descriptor).st_nlink:
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if not taken:
            return None
        # Its holder removed it between opening and locking: once more.


def _release(descriptor: int, lock: Path) -> None:
    _held.discard(descriptor)
    if sys.platform == "win32":  # does not remove open files
        os.close(descriptor)
        with suppress(OSError):
            lock.unlink()
    else:  # before the lock ends, or it might be another's by now
        with suppress(OSError):
            lock.unlink()
        os.close(descriptor)


def _holder(lock: Path) -> str:
    try:
        with lock.open("rb") as file:
            return file.read(_LONGEST).decode("utf-8", "replace") or "another process"
    except OSError:
        return "another process"


if sys.platform == "win32":

    def _try_lock(descriptor: int) -> bool:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        os.lseek(descriptor, 0, os.SEEK_SET)
        return True

else:

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _let_go() -> None:
        """Close a child's copies: a lock must not outlive the process that took it."""
        for descriptor in _held:
            os.close(descriptor)
        _held.clear()

    os.register_at_fork(after_in_child=_let_go)
