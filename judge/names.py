"""The grammar of judge names, one for command line, YAML, server and Python.

    spec    := name [":" model] ["@" backend] ["?" key=value {"&" key=value}]
             | "cascade(" spec "," spec {"," spec} ")"
    backend := "onnx" | "torch" | "transformers" | "vllm" | "fake" | URL of an OpenAI-compatible endpoint
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, urlsplit

LOCAL_BACKENDS = ("onnx", "torch", "transformers", "vllm", "fake")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SINGLE = re.compile(
    r"(?P<name>[^:@?]*)(?::(?P<model>[^@?]*))?(?:@(?P<backend>[^?]*))?(?:\?(?P<options>.*))?", re.S
)


class SpecError(ValueError):
    """A judge name that the grammar does not allow."""


@dataclass(frozen=True)
class JudgeSpec:
    """One judge: `name[:model][@backend][?key=value&…]`."""

    name: str
    model: str | None = None
    backend: str | None = None
    options: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        text = self.name
        if self.model is not None:
            text += f":{self.model}"
        if self.backend is not None:
            text += f"@{self.backend}"
        if self.options:
            pairs = (f"{quote(k)}={quote(v, safe='/:')}" for k, v in self.options.items())
            text += "?" + "&".join(pairs)
        return text


@dataclass(frozen=True)
class CascadeSpec:
    """Judges asked one after the other, cheapest first."""

    stages: tuple[JudgeSpec | CascadeSpec, ...]

    def __str__(self) -> str:
        return f"cascade({','.join(str(stage) for stage in self.stages)})"


def parse_spec(text: str) -> JudgeSpec | CascadeSpec:
    """Read a judge name.

    Raises:
        SpecError: says which part of the name is off and what is allowed there.
    """
    text = text.strip()
    if text.startswith("cascade("):
        if not text.endswith(")"):
            raise SpecError(f"{text!r}: the bracket of cascade( is never closed")
        stages = tuple(parse_spec(part) for part in _split_stages(text[len("cascade(") : -1], text))
        if len(stages) < 2:
            raise SpecError(f"{text!r}: a cascade needs at least two judges, split by commas")
        return CascadeSpec(stages)
    return _parse_single(text)


def _parse_single(text: str) -> JudgeSpec:
    match = _SINGLE.fullmatch(text)
    assert match is not None  # every part is optional
    name, model, backend, options = match.group("name", "model", "backend", "options")
    if not _NAME.fullmatch(name):
        raise SpecError(
            f"{text!r}: a judge's name is lower-case letters, digits and dashes, "
            "as in 'token-similarity' or 'lynx:ORG/MODEL@vllm'"
        )
    if model == "":
        raise SpecError(f"{text!r}: ':' is followed by no model; give a path or a Hub id")
    if backend is not None:
        _check_backend(backend, text)
    return JudgeSpec(name, model, backend, _parse_options(options, text))


def _check_backend(backend: str, text: str) -> None:
    if backend in LOCAL_BACKENDS:
        return
    try:
        url = urlsplit(backend)
        is_url = url.scheme in ("http", "https") and bool(url.hostname)
    except ValueError:
        is_url = False
    if not is_url:
        raise SpecError(
            f"{text!r}: unknown backend {backend!r}; "
            f"use one of {', '.join(LOCAL_BACKENDS)} or an http(s) URL"
        )
    if url.username is not None:
        raise SpecError("a backend's URL must hold no password; set MOONLYNX_API_KEY instead")


def _parse_options(options: str | None, text: str) -> dict[str, str]:
    if options is None:
        return {}
    try:
        pairs = parse_qsl(options, keep_blank_values=True, strict_parsing=True)
    except ValueError:
        raise SpecError(f"{text!r}: options are written ?key=value&key=value") from None
    keys = [key for key, _ in pairs]
    if repeated := {key for key in keys if keys.count(key) > 1}:
        raise SpecError(f"{text!r}: option {min(repeated)!r} is given twice")
    if "" in keys:
        raise SpecError(f"{text!r}: an option has no name")
    return dict(pairs)


def _split_stages(inner: str, text: str) -> list[str]:
    """Split at the commas outside brackets."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(inner):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            raise SpecError(f"{text!r}: a bracket is closed that was never opened")
        if character == "," and depth == 0:
            parts.append(inner[start:position])
            start = position + 1
    if depth:
        raise SpecError(f"{text!r}: a bracket is never closed")
    return [*parts, inner[start:]]
