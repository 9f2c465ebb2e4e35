"""Scoring a few tokens instead of writing text: what a metric of one token needs from a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from ..contract.spec import SpecError
from ..contract.types import JudgeError
from .local import load_local

_LOCAL = {"transformers": "TransformersLabels", "vllm": "VLLMLabels"}


@dataclass(frozen=True)
class LabelRequest:
    """One prompt, with the places at which one of a few tokens is due.

    A causal model sees at each place only the tokens before it: so one pass over the prompt, and a
    pass over each of its beginnings, give the same.
    """

    prompt: tuple[int, ...]  # token ids
    # lengths of the prompt's beginnings that a token is due after, rising; the last is the prompt's
    # own length
    places: tuple[int, ...]
    labels: tuple[int, ...]  # ids of the tokens to score
    adapter: str | None = None  # what `attach` returned, or None for the model as it is


@dataclass(frozen=True)
class LabelReply:
    """What came back for one request."""

    # of each label's token among the whole vocabulary, in nats, by place; shape (places, labels).
    # Empty with an `error`
    logprobs: tuple[tuple[float, ...], ...] = ()
    calls: int = 1  # prompts that were sent
    input_tokens: int = 0  # tokens of those prompts
    # why there are none: `too_long`, `timeout`, `refused` or `backend`
    error: JudgeError | None = None


@runtime_checkable
class LabelBackend(Protocol):
    """Scores label requests: one reply per request, in order, each for itself."""

    name: str

    @property
    def positions(self) -> int:
        """Return the number of tokens that a prompt may have, plus one."""

    def attach(self, name: str, folder: Path) -> str:
        """Attach the adapter in `folder`; return the name that requests use for it.

        Raises:
            BackendError: it is no adapter of this model.
        """

    def score(self, requests: Sequence[LabelRequest]) -> list[LabelReply]:
        """Score the requests, of any adapters."""


def load_label_backend(backend: str, model: str, options: Mapping[str, str]) -> LabelBackend:
    """Load a model that scores labels.

    Args:
        backend: "transformers", "vllm", or the http(s) URL of vLLM's server, ending in /v1.
        model: a path or Hub id; for a server the name it serves the model by.
        options: the backend's options as text. URL: concurrency, timeout, retries, check.
            transformers: device, load, batch. vllm: tensor_parallel, max_model_len, dtype, eager,
            adapters.

    Raises:
        SpecError: no such backend, or an option that it does not have or cannot read.
        MissingExtra: an optional package is missing.
        BackendError: the model cannot be loaded.
    """
    if backend.startswith(("http://", "https://")):
        from . import openai_labels

        return openai_labels.load(backend, model, options)
    if backend not in _LOCAL:
        known = ", ".join(_LOCAL)
        raise SpecError(
            f"no labels are scored on {backend!r}; use one of {known} or an http(s) URL"
        )
    kind = _LOCAL[backend]
    labels: LabelBackend = load_local(f"{backend}_labels", kind, backend, model, options)
    return labels


def faulty(error: JudgeError, calls: int = 0) -> LabelReply:
    """Return the reply of a request that failed."""
    return LabelReply(calls=calls, error=error)
