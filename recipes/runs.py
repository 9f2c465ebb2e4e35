"""Runs as YAML files: found by name, read into their record; what their commands share."""

import logging
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from pydantic import ValidationError

from moonlynx.judge.contract.types import MoonlynxError, Record, first_fault
from moonlynx.judge.files.stored import load_yaml

RUN = "run.json"  # in a run's folder: its settings
RunKind = TypeVar("RunKind", bound=Record)
DataOption = Annotated[
    Path, typer.Option(envvar="MOONLYNX_DATA", help="Folder with the labelled data.")
]


class SettingsError(MoonlynxError, ValueError):
    """A YAML file that describes no run."""


def find_recipe(name: str, folder: Path) -> Path:
    """Find a run's YAML file: one of those in `folder` by its bare name, or any by its path.

    Raises:
        SettingsError: there is none; names those that there are.
    """
    known = {path.stem: path for path in sorted(folder.glob("*.yaml"))}
    if name in known:
        return known[name]
    if Path(name).is_file():
        return Path(name)
    raise SettingsError(f"no recipe is called {name!r}, and no file; known: {', '.join(known)}")


def claim_folder(out: Path, run: Record) -> None:
    """Record which run the folder holds; one with other settings cannot resume it.

    Raises:
        SettingsError: the folder holds another run.
    """
    path = out / RUN
    if path.exists() and _read_claim(path, type(run)) != run:
        raise SettingsError(f"{path} has other settings; name another folder, or remove this one")
    out.mkdir(parents=True, exist_ok=True)
    path.write_text(run.model_dump_json(indent=2) + "\n", encoding="utf-8")


def _read_claim(path: Path, kind: type[Record]) -> Record | None:
    """Read the settings by value, since an earlier version may have written them otherwise."""
    try:
        return kind.model_validate_json(path.read_bytes())
    except ValidationError:
        return None


def read_run(path: Path, kind: type[RunKind]) -> RunKind:
    """Read a run's YAML file.

    Raises:
        SettingsError: it cannot be read or describes no run of that kind; names the field.
    """
    content = load_yaml(path, SettingsError)
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        field, message = first_fault(error, "file")
        raise SettingsError(f"{path}: {field}: {message}") from None


def show_log() -> None:
    """Write what moonlynx logs to standard error, each line with its time."""
    logging.basicConfig(format="%(asctime)s %(message)s")
    logging.getLogger("moonlynx").setLevel(logging.INFO)
