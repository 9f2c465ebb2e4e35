"""Records kept as JSON files, and manifests of hashes and licences of folders of files."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, StringConstraints, ValidationError

from ..contract.types import Count, MoonlynxError, Record, Text, first_fault

MANIFEST = "manifest.json"
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Kept = TypeVar("Kept", bound=BaseModel)


class Manifest(Record):
    """The SHA-256 of each file of a folder, by name."""

    schema_version: Literal["1.0"] = "1.0"
    files: dict[str, Sha256]


def sha256_file(path: Path) -> str:
    """Return the SHA-256 of the file, as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def save_record(record: Record, path: Path) -> None:
    """Write a record as indented JSON: the same record is the same bytes."""
    text = json.dumps(record.model_dump(mode="json"), indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def load_record(path: Path, kind: type[Kept], error: type[MoonlynxError], advice: str = "") -> Kept:
    """Load a record.

    Args:
        path: of its file.
        kind: what the file holds.
        error: raised where the file is missing or wrong; its message names file and field.
        advice: ends that message: what to do then.
    """
    end = f"; {advice}" if advice else ""
    try:
        return kind.model_validate_json(path.read_bytes())
    except OSError as reason:
        raise error(f"cannot read {path}: {reason.strerror}{end}") from None
    except ValidationError as reason:
        field, message = first_fault(reason, "file")
        raise error(f"{path}: {field}: {message}{end}") from None


def load_yaml(path: Path, error: type[MoonlynxError]) -> Any:
    """Load what a YAML file of the user's holds; raise `error`, which names it, where it cannot."""
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as reason:
        raise error(f"cannot read {path}: {reason.strerror}") from None
    except (UnicodeDecodeError, yaml.YAMLError) as reason:
        raise error(f"{path} is not YAML: {reason}") from None


def save_manifest(folder: Path, names: Iterable[str]) -> None:
    """Write the hashes of the folder's files of these names; those it lacks are left out."""
    paths = [folder / name for name in sorted(names)]
    hashes = {path.name: sha256_file(path) for path in paths if path.is_file()}
    save_record(Manifest(files=hashes), folder / MANIFEST)


def check_file(path: Path, manifest: Manifest, error: type[MoonlynxError]) -> None:
    """Compare a file with the manifest of its folder; raise `error` where they differ."""
    fix = "fetch the folder anew"
    if path.name not in manifest.files:
        raise error(f"{path.name} is not in {path.parent / MANIFEST}; {fix}")
    if not path.is_file():
        raise error(f"{path} is missing, but its manifest lists it; {fix}")
    if (found := sha256_file(path)) != manifest.files[path.name]:
        raise error(
            f"{path} has the SHA-256 {found}, its manifest says {manifest.files[path.name]}; {fix}"
        )


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
