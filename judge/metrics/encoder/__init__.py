"""Heads on the encoder of luna: the fast path of Luna-2, without a decoder."""

from pathlib import Path

from ...files.stored import MANIFEST, Manifest, load_record
from ..adapter import HeadError

EMBEDDED = Path(__file__).parents[2] / "weights" / "luna2"


def heads_in(folder: Path = EMBEDDED) -> list[str]:
    """Return the metrics that have a head in the folder.

    Raises:
        HeadError: it has no manifest, or one that cannot be read.
    """
    manifest = load_record(folder / MANIFEST, Manifest, HeadError)
    return sorted(Path(name).stem for name in manifest.files)
