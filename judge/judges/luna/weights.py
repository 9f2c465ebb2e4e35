"""A folder of trained weights: found, downloaded from the Hub, and checked against its manifest.

It holds `luna.json`, `tokenizer.json`, `manifest.json`, the files of at least one backend, and
where the model is calibrated `calibration.json`.
"""

from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer

from ...backends.local import find_folder
from ...files.stored import MANIFEST, Manifest, check_file, load_record, save_manifest
from .config import CONFIG_FILE, LunaConfig, LunaError
from .inputs import find_specials

MINI = "mini"
_SHIPPED = Path(__file__).parents[2] / "weights"
EMBEDDED = {None: _SHIPPED / "luna", MINI: _SHIPPED / "luna-mini"}
TOKENIZER = "tokenizer.json"
CALIBRATION = "calibration.json"
WEIGHTS = {
    "onnx": ("model.onnx",),
    "torch": ("config.json", "model.safetensors", "heads.safetensors"),
}
_ALWAYS = (CONFIG_FILE, TOKENIZER)


class WeightsFolder(NamedTuple):
    """A folder whose files are what its manifest says."""

    path: Path  # the folder
    config: LunaConfig  # its `luna.json`
    tokenizer: Tokenizer  # its `tokenizer.json`, as `load_tokenizer` returns it
    calibration: Path | None  # its `calibration.json`, None where it has none


def open_weights(model: str | None, backend: str | None) -> WeightsFolder:
    """Find a weights folder and check the files that are going to be read.

    Args:
        model: a folder or a Hub id; None for the weights that ship with the package, "mini" for the
            small ones.
        backend: "onnx" (also None) or "torch"; of the other nothing is fetched or read.

    Raises:
        LunaError: a file is missing, is not what the manifest says, or cannot be read.
        BackendError: the path does not exist.
    """
    needed = (*_ALWAYS, *WEIGHTS.get(backend or "onnx", ()))
    folder = EMBEDDED.get(model) or find_folder(
        "luna", model or "", (*needed, CALIBRATION, MANIFEST), LunaError
    )
    if not (folder / MANIFEST).is_file():
        hint = (
            "name weights as in luna:FOLDER_OR_HUB_ID"
            if model is None
            else (
                "write it with moonlynx.judge.judges.luna.weights.write_manifest "
                "if the files are your own"
            )
        )
        raise LunaError(f"{folder} has no {MANIFEST}; {hint}")
    manifest = load_record(folder / MANIFEST, Manifest, LunaError)
    calibrated = CALIBRATION in manifest.files or (folder / CALIBRATION).exists()
    for name in (*needed, CALIBRATION) if calibrated else needed:
        check_file(folder / name, manifest, LunaError)
    return WeightsFolder(
        folder,
        load_record(folder / CONFIG_FILE, LunaConfig, LunaError),
        load_tokenizer(folder / TOKENIZER),
        folder / CALIBRATION if calibrated else None,
    )


def write_manifest(folder: Path) -> None:
    """Write the hashes of the folder's files to its `manifest.json`."""
    known = (*_ALWAYS, CALIBRATION, *(name for names in WEIGHTS.values() for name in names))
    save_manifest(folder, known)


def load_tokenizer(path: Path) -> Tokenizer:
    """Read a `tokenizer.json` for judged text: nothing is cut or padded.

    A special token that is written in a text is read as its letters, so that no text can end its
    part of the input.

    Raises:
        LunaError: it cannot be read, or has no special tokens that this project knows.
    """
    try:
        tokenizer = Tokenizer.from_file(str(path))
        find_specials(tokenizer)
    except Exception as error:  # the library raises nothing more specific
        raise LunaError(f"{path} is no tokenizer that Luna can use: {error}") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer
