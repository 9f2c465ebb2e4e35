"""What a folder is as a release: its kind, checked; its card; the licences behind it."""

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

from moonlynx._version import __version__
from moonlynx.halubench.manifest import read_manifest
from moonlynx.judge.backends.gguf import read_header
from moonlynx.judge.backends.pretrained import ADAPTER_CONFIG, read_base
from moonlynx.judge.contract.types import MoonlynxError
from moonlynx.judge.decision.calibration import load_calibration
from moonlynx.judge.files.stored import (
    MANIFEST,
    Kind,
    Licence,
    Manifest,
    Release,
    ReleasedFile,
    check_file,
    load_record,
    released_files,
    sha256_file,
)
from moonlynx.judge.metrics.adapter import HEAD
from moonlynx.recipes.chat import record as chat
from moonlynx.recipes.data.mixes import SOURCES
from moonlynx.recipes.luna2.data.licences import SETS

from . import lynx, training

CARD = "README.md"
# By which file a folder is known, the first that it holds; and what a card of it must state.
_KINDS: Mapping[str, Kind] = {
    "luna.json": "encoder",
    "test.jsonl": "benchmark",
    "train.jsonl": "benchmark",
    ADAPTER_CONFIG: "adapter",
    "*.gguf": "gguf",
    "config.json": "model",
    "raghalu.json": "heads",
    "manifest.json": "heads",
    "calibration.json": "calibration",
}
_MEASURED = ("encoder", "adapter", "model")
# Data, never code: pickles, archives and scripts have other endings.
_ENDINGS: tuple[str, ...] = (".safetensors", ".onnx", ".gguf", ".json", ".jsonl", ".parquet")
_ENDINGS += (".md", ".txt", ".jinja", ".yaml", ".svg", ".model", ".sig")


class ReleaseError(MoonlynxError, ValueError):
    """A folder that cannot be released: what is wrong with which file, and what to do."""


class Plan(NamedTuple):
    """A folder that can be released, and its manifest."""

    folder: Path
    release: Release

    @property
    def repo_type(self) -> str:
        """Return the Hub's word for where releases of this kind are."""
        return "dataset" if self.release.kind == "benchmark" else "model"


def plan_release(folder: Path) -> Plan:
    """Check a folder, and write the manifest that its release is to have.

    Raises:
        ReleaseError: a file is not what it should be, may not be released, or is missing.
        GGUFError, CalibrationError, BackendError: likewise, of these files and of adapters.
    """
    if not folder.is_dir():
        raise ReleaseError(f"there is no folder {folder}")
    kind = next((kind for name, kind in _KINDS.items() if any(folder.glob(name))), None)
    if kind is None:
        raise ReleaseError(
            f"{folder} holds nothing that is released; looked for {', '.join(_KINDS)}"
        )
    paths = dict(released_files(folder))
    for path in paths.values():
        _check_form(path)
    _check_hashes(folder, kind)
    if kind == "adapter":
        _check_base(f"{paths[ADAPTER_CONFIG]}: base_model_name_or_path", read_base(folder))
    files = {
        name: ReleasedFile(sha256=sha256_file(path), size=path.stat().st_size)
        for name, path in paths.items()
    }
    licences = tuple(_licences(folder, kind))
    return Plan(folder, Release(kind=kind, moonlynx=__version__, licences=licences, files=files))


def check_names(release: Release) -> None:
    """Refuse a release that is not of data alone, or names files outside its folder.

    Raises:
        ReleaseError: names the file.
    """
    for name in release.files:
        if not name.endswith(_ENDINGS) or name.startswith("/") or ".." in name.split("/"):
            raise ReleaseError(f"{name}: a release holds only files of {', '.join(_ENDINGS)}")


def _check_form(path: Path) -> None:
    """Refuse what is no file of data, or not what its ending says."""
    if path.is_symlink() or not path.name.endswith(_ENDINGS):
        raise ReleaseError(
            f"{path}: a release holds only files of {', '.join(_ENDINGS)}, and no links; remove it"
        )
    if path.suffix == ".safetensors":
        with path.open("rb") as file:
            size = struct.unpack("<Q", file.read(8).ljust(8, b"\xff"))[0]
            header = file.read(size) if size <= path.stat().st_size - 8 else b""
        try:
            json.loads(header)
        except ValueError:
            raise ReleaseError(f"{path} is not in the form of safetensors; save it anew") from None
    if path.suffix == ".gguf":
        read_header(path)


def _check_hashes(folder: Path, kind: Kind) -> None:
    """Compare the folder with the manifest of what wrote it, where that writes one."""
    if kind == "benchmark":
        build = read_manifest(folder)
        if build is None:
            raise ReleaseError(
                f"{folder} has no {MANIFEST}: the build is not complete; run it again"
            )
        for name, output in build.outputs.items():
            path = folder / name
            if not path.is_file() or sha256_file(path) != output.sha256:
                raise ReleaseError(f"{path} is not what was built; build it anew")
    elif kind in ("encoder", "heads"):
        written = load_record(folder / MANIFEST, Manifest, ReleaseError)
        for name in written.files:
            check_file(folder / name, written, ReleaseError)
    elif kind == "calibration":
        load_calibration(folder / "calibration.json")


def _check_base(where: str, base: str) -> None:
    """Refuse a base that nobody else has."""
    if Path(base).is_absolute() or Path(base).exists():
        raise ReleaseError(
            f"{where} is {base}, which only this machine has; write the Hub's id of that model"
        )


def _licences(folder: Path, kind: Kind) -> Iterator[Licence]:
    """Yield the licences of the release, of its base and of the data that it was made from."""
    from huggingface_hub import DatasetCard, ModelCard

    path = folder / CARD
    if not path.is_file():
        raise ReleaseError(f"{folder} has no card ({CARD}); write it with `moonlynx card`")
    try:
        card = (DatasetCard if kind == "benchmark" else ModelCard).load(path)
    except (ValueError, yaml.YAMLError) as error:
        raise ReleaseError(f"{path}: its metadata cannot be read: {error}") from None
    data = card.data.to_dict()
    stated = data.get("license_name") or data.get("license")
    if not stated:
        raise ReleaseError(f"{path} states no license; add the field to its metadata")
    if kind in _MEASURED and not data.get("model-index"):
        raise ReleaseError(f"{path} holds no results; write it with `moonlynx card --report`")
    yield Licence(part="release", name=folder.resolve().name, licence=str(stated))
    for base in _listed(data.get("base_model")):
        _check_base(f"{path}: base_model", base)
        known = training.BASES.get(base) or lynx.licence_of(base)
        yield Licence(part="base", name=base, licence=known)
    stated = _stated_licences(folder) if kind in ("adapter", "model") else {}
    for name in _listed(data.get("datasets")):
        licence = _licence_of_data(name) or stated.get(name)
        yield Licence(part="data", name=name, licence=licence)
    build = read_manifest(folder) if kind == "benchmark" else None
    for source in build.sources if build else ():
        licences = "; ".join(source.licences) or None
        yield Licence(part="data", name=source.source, licence=licences)


def _listed(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else [str(value)] * bool(value)


def _stated_licences(folder: Path) -> dict[str, str]:
    """Return the licences that the rows of a chat model's run stated, where its record is kept."""
    is_head = (folder / HEAD).is_file()  # of Luna-2, whose record is another
    if is_head or not (folder.parent / chat.RECORD_FILE).is_file():
        return {}
    return {each.source: each.licence for each in chat.read_record(folder.parent).read_sources}


def _licence_of_data(name: str) -> str | None:
    if name in SOURCES:
        return SOURCES[name].licence
    return next((sets[name].licence for sets in SETS.values() if name in sets), None)
