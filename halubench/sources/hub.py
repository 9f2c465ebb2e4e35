"""Sources from the Hugging Face Hub, through `datasets`."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from moonlynx.judge.backends.base import MissingExtra

from .base import Hub, Origin, RawRow, SourceError


def read_hub(hub: Hub) -> tuple[Iterable[RawRow], Origin]:
    """Load a dataset's split, and hash its rows.

    Raises:
        MissingExtra: the package `datasets` is not installed.
        SourceError: the dataset is not available.
    """
    try:
        from datasets import load_dataset
        from datasets.exceptions import DatasetsError
    except ImportError:
        raise MissingExtra("Reading a source from the Hub", "data") from None
    commit = _commit(hub)
    try:
        rows = load_dataset(hub.id, hub.config, split=hub.split, revision=commit)
    except (OSError, ValueError, RuntimeError, DatasetsError) as error:
        raise SourceError(
            f"{hub.id}: cannot be loaded from the Hub ({error}); run the same command again, or "
            "give the files with --data"
        ) from error
    lines = hashlib.sha256()
    for row in rows:
        lines.update(json.dumps(row, ensure_ascii=False, default=str).encode("utf-8") + b"\n")
    name = "/".join(part for part in (hub.id, hub.config, hub.split) if part)
    return rows, Origin(name, lines.hexdigest(), hub.licence, commit)


def _commit(hub: Hub) -> str | None:
    """Return the commit that the revision is at; the revision itself if the Hub is unreachable."""
    from httpx import HTTPError  # these take a second
    from huggingface_hub import HfApi

    if Path(hub.id).is_dir():
        return None
    try:
        return HfApi().dataset_info(hub.id, revision=hub.revision).sha
    except (OSError, HTTPError):  # what the Hub's cache holds can be read without it
        return hub.revision
