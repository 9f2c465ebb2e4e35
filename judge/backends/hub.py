"""The Hub: a model's name there, its revision, its download, and what went wrong.

A model of the Hub is `ORG/NAME`, a GGUF file `ORG/NAME/FILE.gguf`, each with `@REVISION` (a branch,
a tag or a commit) behind it where one is asked for.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..contract.types import MoonlynxError

_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*(?:/.+\.gguf)?")
_SHOWN = 12  # digits of a commit
_LATER = "run the same command later: what was transferred is kept"
_ADVICE = {
    401: "the token is missing or not accepted; run `hf auth login`, or set HF_TOKEN",
    403: "the token may not do this; use one that may, or ask for access on the repository's page",
    404: "there is no such repository or revision, or it is private: then `hf auth login`",
    429: f"the Hub asks to wait; {_LATER}",
    500: f"the Hub has an error of its own; {_LATER}",
}


class HubError(MoonlynxError, RuntimeError):
    """The Hub did not do what it was asked; says why and what to do."""


def split_revision(model: str) -> tuple[str, str | None]:
    """Split a model's name from its revision; a path has none."""
    name, _, revision = model.partition("@")
    return (name, revision or None) if is_on_hub(model) else (model, None)


def is_on_hub(model: str) -> bool:
    """Return whether a model is named as one of the Hub, and is no path here."""
    return _NAME.fullmatch(model.partition("@")[0]) is not None and not Path(model).exists()


def repository(name: str) -> str:
    """Return the repository of a model, or of a file in it."""
    return "/".join(name.split("/")[:2])


def download(model: str, **options: Any) -> Path:
    """Download a model of the Hub, or what is missing of it; offline, find it in the cache.

    Raises:
        HubError: it is not there, or the Hub cannot be reached.
    """
    name, revision = split_revision(model)
    with hub_errors(name):
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(repository(name), revision=revision, **options))


def find_commit(model: str) -> str | None:
    """Return the commit that a downloaded model is at; None where it is not one of the Hub."""
    folder = find_cached(model)
    return None if folder is None else folder.name[:_SHOWN]


def find_cached(model: str) -> Path | None:
    """Return the folder that a model was downloaded to; None where it is not one of the Hub."""
    if not is_on_hub(model):
        return None
    try:
        return download(model, allow_patterns=[], local_files_only=True)
    except HubError:
        return None


@contextmanager
def hub_errors(what: str) -> Iterator[None]:
    """Raise a `HubError` about `what` for the errors of the Hub's client."""
    from huggingface_hub.errors import HfHubHTTPError

    # The client's own HTTP library, which is not the same in all of its versions.
    transport: type[Exception] = HfHubHTTPError.__bases__[0]
    try:
        yield
    except (OSError, ValueError, RuntimeError, transport) as error:
        if isinstance(error, MoonlynxError):
            raise
        raise HubError(f"{what}: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    """Return what the Hub, or else its client, says, in one line."""
    links: list[BaseException] = [error]
    while (cause := links[-1].__cause__) is not None:
        links.append(cause)
    for link in links:
        status = getattr(getattr(link, "response", None), "status_code", 0)
        if advice := _ADVICE.get(min(status, 500)):
            return f"{advice} (HTTP {status})"
    return " ".join(str(links[-1]).split()) or type(links[-1]).__name__
