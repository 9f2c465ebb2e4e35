"""What models in this process share: finding and hashing weights, and writing the prompt."""

import hashlib
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ..contract.spec import SpecError
from ..contract.types import JudgeError, MoonlynxError
from ..files.stored import RELEASE, check_release
from .base import BackendError, ChatRequest
from .hub import HubError, download
from .options import read_options

Options = Mapping[str, str]
# What a model for Transformers or vLLM is read from, in the folder itself.
MODEL_FILES = ("*.json", "*.safetensors", "*.jinja", "*.model", "*.txt")
_SAMPLES, _BLOCK = 256, 4096  # blocks of a file that identify it, and bytes of one
_BESIDE = ("*/*", "consolidated*")  # the same weights in other formats


def find_model(backend: str, model: str | None) -> str:
    """Return the folder or Hub id that `model` names.

    Raises:
        SpecError: no model is named.
        BackendError: the path does not exist.
    """
    if model is None:
        raise SpecError(f"the {backend} backend needs a model: a path or a Hub id")
    if not model.startswith(("/", "./", "../", "~")):
        return model
    path = Path(model).expanduser()
    if not path.exists():
        raise BackendError(f"there is no model at {path}")
    return str(path)


def load_local(module: str, kind: str, backend: str, model: str | None, options: Options) -> Any:
    """Load the backend of class `kind` in a module here; its `READERS` read the options."""
    made = getattr(import_module(f".{module}", __package__), kind)
    values = read_options(backend, options, made.READERS)
    return made(find_model(backend, model), **values)


def find_folder(
    backend: str,
    model: str | None,
    wanted: Sequence[str] = MODEL_FILES,
    error: type[MoonlynxError] = BackendError,
) -> Path:
    """Return what `locate_folder` does; where that holds a release manifest, its files fit it.

    Raises:
        MoonlynxError: `error`, also where a file is not what was released.
    """
    folder = locate_folder(backend, model, wanted, error)
    check_release(folder, error)
    return folder


def locate_folder(
    backend: str,
    model: str | None,
    wanted: Sequence[str] = MODEL_FILES,
    error: type[MoonlynxError] = BackendError,
) -> Path:
    """Return the folder of a model, downloaded from the Hub where `model` is a name there.

    Its files are not read: `find_folder` compares them with what was released.

    Args:
        backend: for messages.
        model: a folder, or a name on the Hub with or without `@REVISION`.
        wanted: patterns of the files to download.
        error: raised where it cannot be downloaded; else as `find_model`.
    """
    folder = Path(find_model(backend, model))
    if not folder.is_dir():
        beside = _BESIDE if wanted is MODEL_FILES else None
        try:
            folder = download(str(model), allow_patterns=[*wanted, RELEASE], ignore_patterns=beside)
        except HubError as reason:
            message = (
                f"{model} is not a folder here and cannot be downloaded from the Hub: {reason}"
            )
            raise error(message) from reason
    return folder


def hash_files(*paths: Path) -> str:
    """Return the first 12 hex digits of the SHA-256 over the files, one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()[:12]


def fingerprint(*paths: Path) -> str:
    """Return 12 hex digits that identify weights of many gigabytes without reading them whole.

    They are of the SHA-256 over each file's size and over `_SAMPLES` blocks at even distances: a
    change of a tenth of the weights is always seen, one of a hundredth nine times in ten.
    """
    digest = hashlib.sha256()
    for path in paths:
        size = path.stat().st_size
        digest.update(size.to_bytes(8, "big"))
        with path.open("rb") as file:
            for at in sorted({size * i // _SAMPLES for i in range(_SAMPLES)}):
                file.seek(at)
                digest.update(file.read(_BLOCK))
    return digest.hexdigest()[:12]


def check_template(tokenizer: Any, model: str) -> None:
    """Require a chat template.

    Raises:
        BackendError: it has none.
    """
    if tokenizer.chat_template is None:
        raise BackendError(f"{model} has no chat template; use a model made for chat")


def encode_prompt(
    tokenizer: Any, request: ChatRequest, positions: int, **template: Any
) -> list[int] | JudgeError:
    """Write the prompt as token ids by the model's chat template.

    The text of a special token within a message is broken up, so that no message can end its own
    turn or open another. `template` are fields of the template itself, as `enable_thinking`.

    Returns:
        The ids, fewer than `positions`, or why there are none.
    """
    from jinja2 import TemplateError

    special = [token.content for token in tokenizer.added_tokens_decoder.values() if token.special]
    messages = [
        {"role": turn.role, "content": break_up(turn.content, special)} for turn in request.messages
    ]
    try:
        ids: list[int] = tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=True, return_dict=True, **template
        )["input_ids"]
    except (TemplateError, ValueError) as error:
        message = f"the chat template does not take the messages: {error}"
        return JudgeError(code="backend", message=message)
    if len(ids) >= positions:
        message = f"the prompt has {len(ids)} tokens; prompt and reply may have {positions}"
        return JudgeError(code="too_long", message=message)
    return ids


def break_up(text: str, special: list[str]) -> str:
    """Return the text with a space within each special token."""
    for token in special:
        text = text.replace(token, f"{token[0]} {token[1:]}")
    return text
