"""Adapters that ship with the package; their backbone is downloaded when one is first used."""

from importlib.util import find_spec
from pathlib import Path

from ..files.stored import MANIFEST, Manifest, check_file, load_record
from .adapter import HEAD, HeadError

ADAPTERS = Path(__file__).parents[1] / "weights" / "luna2-adapters"
EXTRA = "transformers"
_PACKAGES = ("torch", "transformers", "peft", "gguf")  # of the extra, which an adapter needs


def adapters_in(folder: Path = ADAPTERS) -> list[str]:
    """Return the metrics that have an adapter in the folder, each in one of its own."""
    return sorted(path.parent.name for path in folder.glob(f"*/{HEAD}"))


def open_adapter(metric: str, folder: Path = ADAPTERS) -> Path:
    """Return the folder of a metric's adapter, checked against its manifest.

    Raises:
        HeadError: there is none, or a file is not what the manifest says.
    """
    own = folder / metric
    manifest = load_record(own / MANIFEST, Manifest, HeadError)
    for name in manifest.files:
        check_file(own / name, manifest, HeadError)
    return own


def missing_packages() -> list[str]:
    """Return what is not installed of the packages that adapters need."""
    return [name for name in _PACKAGES if find_spec(name) is None]
