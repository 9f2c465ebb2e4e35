"""What a released folder is: its kind, the licences it is under, and the SHA-256 of every file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from ..contract.types import Count, MoonlynxError, Record, Text
from .stored import Sha256, load_record, sha256_file

RELEASE = "release.json"
# The Hub's own, and what its client keeps beside the files of a folder.
_NOT_OURS = (".gitattributes", ".cache/")

Kind = Literal["encoder", "heads", "adapter", "model", "gguf", "benchmark", "calibration"]


class Licence(Record):
    """A link of the licence chain."""

    # the release itself, the model that it was made from, or data that it was made from
    part: Literal["release", "base", "data"]
    name: Text  # of that part
    licence: Text | None  # as stated where it is from; None where it is not known here


class ReleasedFile(Record):
    """A file of a release; `size` in bytes."""

    sha256: Sha256
    size: Count


class Release(Record):
    """The manifest of a released folder, kept in its `release.json`."""

    schema_version: Literal["1.0"] = "1.0"
    kind: Kind  # what the folder holds
    moonlynx: Text  # the version that made the release
    licences: tuple[Licence, ...]  # of the release, its base and its data
    files: dict[str, ReleasedFile]  # every file but the manifest itself, by its path in the folder


def released_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield path in the folder, and path, of each file that a release of the folder has."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name != RELEASE and not name.startswith(_NOT_OURS):
            yield name, path


def check_release(
    folder: Path, error: type[MoonlynxError], *, whole: bool = False
) -> Release | None:
    """Compare a folder's files with its release manifest, where it has one.

    Args:
        folder: of a release, or any other.
        error: raised for a file that is changed or not listed; its message names the file.
        whole: raise it for a file that is missing too; else the folder may hold some of them.

    Returns:
        The manifest; None where the folder has none.
    """
    if not (folder / RELEASE).is_file():
        return None
    release = load_record(folder / RELEASE, Release, error)
    found = dict(released_files(folder))
    for name, path in found.items():
        if name not in release.files:
            raise error(
                f"{path} is not in {RELEASE}; remove it, or {RELEASE} if the folder is yours"
            )
        if (sha256 := sha256_file(path)) != release.files[name].sha256:
            raise error(
                f"{path} has the SHA-256 {sha256}, {RELEASE} says {release.files[name].sha256}; "
                "fetch it anew with `moonlynx pull --force`"
            )
    if whole and (missing := sorted(release.files.keys() - found)):
        raise error(f"{folder / missing[0]} is missing, but {RELEASE} lists it; pull again")
    return release
