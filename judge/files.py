"""Files and folders that are written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write a file or folder to, which takes its name at the end.

    A run that is killed leaves what it had, and no `path`; the next one writes over it. For one
    process at a time.
    """
    draft = path.with_name(f"{path.name}.part")
    yield draft
    draft.replace(path)
