"""Chat models by backend, and by name for commands that judge nothing: MODEL@BACKEND?key=value."""

from collections.abc import Mapping

from ..contract.spec import JudgeSpec, SpecError, parse_spec
from .base import ChatBackend
from .local import load_local

_LOCAL = {
    "transformers": "TransformersBackend",
    "llamacpp": "LlamaCppBackend",
    "vllm": "VLLMBackend",
}


def load_chat_backend(backend: str, model: str | None, options: Mapping[str, str]) -> ChatBackend:
    """Load a chat model.

    Args:
        backend: "fake", "transformers", "llamacpp", "vllm", or the http(s) URL of an
            OpenAI-compatible endpoint, as a rule ending in /v1.
        model: a path or Hub id, of a GGUF file a path or ORG/REPO/FILE.gguf; for an endpoint the
            name it serves, which may be left out where it serves only one; the fake backend has
            none.
        options: the backend's options as text. fake: script. URL: concurrency, timeout, retries.
            transformers: device, load, batch. llamacpp: threads, context, batch. vllm:
            tensor_parallel, max_model_len, dtype, eager.

    Raises:
        SpecError: no such backend, or an option that it does not have or cannot read.
        MissingExtra: an optional package is missing.
        BackendError: the model cannot be loaded.
    """
    if backend.startswith(("http://", "https://")):
        from . import openai

        return openai.load(backend, model, options)
    if backend == "fake":
        from . import fake

        return fake.load(model, options)
    if backend not in _LOCAL:
        known = ", ".join(["fake", *_LOCAL])
        raise SpecError(f"no chat model runs on {backend!r}; use one of {known} or an http(s) URL")
    chat: ChatBackend = load_local(backend, _LOCAL[backend], backend, model, options)
    return chat


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
