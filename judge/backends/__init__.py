"""Backends: the smallest thing a judge needs from a model, passed in as an object."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from ..contract.spec import SpecError
from .base import ChatBackend

__all__ = ["load_chat_backend"]

# Each is a module here with a `load(model, options)`; a URL is an OpenAI-compatible endpoint.
_LOCAL = ("fake", "transformers", "vllm")


def load_chat_backend(backend: str, model: str | None, options: Mapping[str, str]) -> ChatBackend:
    """Load a chat model.

    Args:
        backend: "fake", "transformers", "vllm", or the http(s) URL of an OpenAI-compatible
            endpoint, as a rule ending in /v1.
        model: a path or Hub id; for an endpoint the name it serves, which may be left out where it
            serves only one; the fake backend has none.
        options: the backend's options as text. fake: script. URL: concurrency, timeout, retries.
            transformers: device, load, batch. vllm: tensor_parallel, max_model_len, dtype, eager.

    Raises:
        SpecError: no such backend, or an option that it does not have or cannot read.
        MissingExtra: an optional package is missing.
        BackendError: the model cannot be loaded.
    """
    chat: ChatBackend
    if backend.startswith(("http://", "https://")):
        from . import openai

        chat = openai.load(backend, model, options)
    elif backend in _LOCAL:
        chat = import_module(f".{backend}", __package__).load(model, options)
    else:
        known = ", ".join(_LOCAL)
        raise SpecError(f"no chat model runs on {backend!r}; use one of {known} or an http(s) URL")
    return chat
