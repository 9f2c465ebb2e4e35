"""Chat models by name, for commands that ask one without judging: MODEL@BACKEND?option=value."""

from __future__ import annotations

from ..contract.spec import JudgeSpec, parse_spec
from . import load_chat_backend
from .base import ChatBackend


def parse_chat_model(text: str) -> JudgeSpec:
    """Read a chat model's name, which is a judge's without the judge.

    Raises:
        SpecError: it cannot be read.
    """
    spec = parse_spec(f"chat{text}" if text.startswith(("@", "?")) else f"chat:{text}")
    assert isinstance(spec, JudgeSpec)
    return spec


def load_chat_model(spec: JudgeSpec) -> ChatBackend:
    """Load a chat model, with transformers where no backend is named.

    Raises:
        SpecError, MissingExtra, BackendError: as `load_chat_backend` does.
    """
    return load_chat_backend(spec.backend or "transformers", spec.model, spec.options)
