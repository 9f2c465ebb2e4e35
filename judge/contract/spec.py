"""The grammar of judge names, one for command line, YAML, server and Python.

Grammar::

    spec    := name [":" model] ["@" backend] ["?" key=value {"&" key=value}]
             | "cascade(" spec "," spec {"," spec} ")" ["?" key=value {"&" key=value}]
    backend := "onnx" | "torch" | "transformers" | "llamacpp" | "vllm" | "fake"
             | URL of an OpenAI-compatible endpoint
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl, quote, urlsplit

from .types import MoonlynxError

LOCAL_BACKENDS = ("onnx", "torch", "transformers", "llamacpp", "vllm", "fake")
_MOST_CASCADES = 16
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_PASSWORD = re.compile(r"://[^/?&,]*@")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SINGLE = re.compile(
    r"(?P<name>[^:@?]*)(?::(?P<model>[^@?]*))?(?:@(?P<backend>[^?]*))?(?:\?(?P<options>.*))?", re.S
)


class SpecError(MoonlynxError, ValueError):
    """A judge name that the grammar does not allow."""


@dataclass(frozen=True)
class JudgeSpec:
    """One judge: `name[:model][@backend][?key=value&…]`."""

    name: str
    model: str | None = None
    backend: str | None = None
    options: dict[str, str] = field(default_factory=dict)

    @property
    def over_network(self) -> bool:
        """Whether its model is asked at an address."""
        return self.backend is not None and "://" in self.backend

    def __str__(self) -> str:
        text = self.name
        if self.model is not None:
            text += f":{self.model}"
        if self.backend is not None:
            text += f"@{self.backend}"
        return text + _write_options(self.options)


@dataclass(frozen=True)
class CascadeSpec:
    """Judges asked one after the other, cheapest first."""

    stages: tuple[JudgeSpec | CascadeSpec, ...]
    options: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        stages = ",".join(str(stage) for stage in self.stages)
        return f"cascade({stages})" + _write_options(self.options)


Spec = JudgeSpec | CascadeSpec


def with_preset(spec: Spec, preset: str | None) -> Spec:
    """Return the name with the option preset=, where one was asked for beside it.

    Raises:
        SpecError: it is a cascade's, or has one already.
    """
    if preset is None:
        return spec
    if isinstance(spec, CascadeSpec):
        raise SpecError("--preset goes with one judge; in a cascade write it as luna?preset=guard")
    if "preset" in spec.options:
        raise SpecError("give --preset or the judge's option preset=, not both")
    return replace(spec, options=spec.options | {"preset": preset})


def _write_options(options: Mapping[str, str]) -> str:
    pairs = "&".join(f"{quote(k)}={quote(v, safe='/:')}" for k, v in options.items())
    return f"?{pairs}" if pairs else ""


def parse_spec(text: str) -> Spec:
    """Read a judge name.

    Raises:
        SpecError: says which part of the name is wrong and what is allowed there.
    """
    text = text.strip()
    if _PASSWORD.search(text):
        raise SpecError("a URL must hold no password; set MOONLYNX_API_KEY instead")
    if _SURROGATE.search(text):
        raise SpecError(f"{_shown(text)}: holds a lone surrogate; decode the name as UTF-8 first")
    if not text.startswith("cascade("):
        return _parse_single(text)
    if text.count("cascade(") > _MOST_CASCADES:
        raise SpecError(f"a name holds at most {_MOST_CASCADES} cascades")
    # Written options hold no bracket, so the last one before a "?" is the cascade's.
    inner, closing, options = (text[:-1], ")", None) if text[-1] == ")" else text.rpartition(")?")
    if not closing:
        raise SpecError(
            f"{_shown(text)}: the bracket of cascade( must close at the name's end, or before its "
            "?options"
        )
    parts = _split_stages(inner[len("cascade(") :], text)
    if len(parts) < 2:
        raise SpecError(f"{_shown(text)}: a cascade needs at least two judges, split by commas")
    stages = tuple(parse_spec(part) for part in parts)
    return CascadeSpec(stages, _parse_options(options, text))


def _shown(text: str) -> str:
    """Quote a name for a message, without what may be a password before an @."""
    return repr(re.sub(r"(://|@).*@", r"\1***@", text, flags=re.S))


def _parse_single(text: str) -> JudgeSpec:
    match = _SINGLE.fullmatch(text)
    assert match is not None  # every part is optional
    name, model, backend, options = match.group("name", "model", "backend", "options")
    if not _NAME.fullmatch(name):
        raise SpecError(
            f"{_shown(text)}: a judge's name is lower-case letters, digits and dashes, "
            "as in 'token-similarity' or 'lynx:ORG/MODEL@vllm'"
        )
    if name == "cascade":
        raise SpecError(f"{_shown(text)}: a cascade names its judges, as in cascade(luna,lynx@URL)")
    if model is not None and not model.strip():
        raise SpecError(f"{_shown(text)}: ':' is followed by no model; give a path or a Hub id")
    if backend is not None:
        _check_backend(backend, text)
    return JudgeSpec(name, model, backend, _parse_options(options, text))


def _check_backend(backend: str, text: str) -> None:
    if backend in LOCAL_BACKENDS:
        return
    try:
        url = urlsplit(backend)
        is_url = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
        is_url = is_url and not re.search(r"\s", backend)
    except ValueError:
        is_url = False
    if not is_url:
        raise SpecError(
            f"{_shown(text)}: unknown backend behind '@'; "
            f"use one of {', '.join(LOCAL_BACKENDS)} or an http(s) URL"
        )


def _parse_options(options: str | None, text: str) -> dict[str, str]:
    if options is None:
        return {}
    try:
        pairs = parse_qsl(options, keep_blank_values=True, strict_parsing=True)
    except ValueError:
        pairs = []
    if not pairs:
        raise SpecError(f"{_shown(text)}: options are written ?key=value&key=value")
    keys = [key for key, _ in pairs]
    if repeated := {key for key in keys if keys.count(key) > 1}:
        raise SpecError(f"{_shown(text)}: option {min(repeated)!r} is given twice")
    if "" in keys:
        raise SpecError(f"{_shown(text)}: an option has no name")
    return dict(pairs)


def _split_stages(inner: str, text: str) -> list[str]:
    """Split at the commas outside brackets."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(inner):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            raise SpecError(f"{_shown(text)}: a bracket is closed that was never opened")
        if character == "," and depth == 0:
            parts.append(inner[start:position])
            start = position + 1
    if depth:
        raise SpecError(f"{_shown(text)}: a bracket is never closed")
    return [*parts, inner[start:]]
