"""Records kept as JSON files, and manifests of hashes that say whether files are unchanged."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import StringConstraints, ValidationError

from ..contract.types import MoonlynxError, Record, first_fault

MANIFEST = "manifest.json"
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Kept = TypeVar("Kept", bound=Record)


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
