"""RAGHalu's small weights: the files beside the encoder, checked against a manifest of hashes.

A folder holds `raghalu.json`, `manifest.json`, and where the judge is calibrated
`calibration.json`.
"""

from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import StringConstraints

from ...contract.types import MoonlynxError, Probability, Record
from ...files.stored import MANIFEST, Manifest, check_file, load_record, save_manifest
from ..luna.aggregate import SupportModel
from ..luna.weights import CALIBRATION, MINI
from .checkable import CheckableModel

EMBEDDED = Path(__file__).parents[2] / "weights" / "raghalu"
HEADS = "raghalu.json"
_Version = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z._-]*$")]


class RagHaluError(MoonlynxError, ValueError):
    """A weights folder that cannot be used: what is wrong with which file, and what to do."""


class Heads(Record):
    """What RAGHalu adds to the encoder."""

    schema_version: Literal["1.0"] = "1.0"
    version: _Version  # of these weights
    # weights of the encoder that they were fitted to, as in luna:NAME; until 0.11 the small one
    luna: str | None = MINI
    # a sentence is unsupported where 1 - P(supported) reaches it; a calibration beside the weights
    # has its own
    threshold: Probability = 0.5
    # tier 2, from the encoder's support to P(supported); None takes the encoder's own
    support: SupportModel | None = None
    checkable: CheckableModel  # tier 1


class HeadsFolder(NamedTuple):
    """A folder whose files are what its manifest says; `calibration` is None where it has none."""

    heads: Heads
    calibration: Path | None


def open_heads(folder: Path) -> HeadsFolder:
    """Read a folder, and check its files against its manifest.

    Raises:
        RagHaluError: a file is missing, is not what the manifest says, or cannot be read.
    """
    if not folder.is_dir():
        raise RagHaluError(f"{folder} is no folder; `moonlynx train raghalu` writes one")
    manifest = load_record(folder / MANIFEST, Manifest, RagHaluError)
    for name in sorted({HEADS, *manifest.files}):
        check_file(folder / name, manifest, RagHaluError)
    heads = load_record(folder / HEADS, Heads, RagHaluError)
    calibrated = CALIBRATION in manifest.files
    return HeadsFolder(heads, folder / CALIBRATION if calibrated else None)


def save_heads(heads: Heads, folder: Path) -> None:
    """Write the heads, and a manifest of them and of a calibration beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / HEADS).write_text(heads.model_dump_json() + "\n", encoding="utf-8", newline="\n")
    write_manifest(folder)


def write_manifest(folder: Path) -> None:
    """Write the hashes of the folder's files to its manifest."""
    save_manifest(folder, (CALIBRATION, HEADS))
