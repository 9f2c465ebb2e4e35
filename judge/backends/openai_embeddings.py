"""Embedding models behind an OpenAI-compatible endpoint."""

from collections.abc import Mapping, Sequence
from itertools import chain

import httpx
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from ..contract.types import JudgeError
from .base import EmbeddingError
from .embeddings import unit
from .endpoint import OPTIONS, Endpoint, Failure, wait_for
from .options import read_options

_INPUTS = 64  # texts in one request

_Vectors = list[list[float]]


class OpenAIEmbeddings:
    """Embeds texts at an endpoint, in requests of up to 64 texts.

    The endpoint decides what it does with a text longer than the model's window. vLLM and OpenAI
    refuse it, which becomes the error `too_long`; a server set to cut texts cuts them unseen.
    Vectors can differ in their last bits with what else the server is computing.
    """

    def __init__(self, endpoint: Endpoint, model: str, name: str) -> None:
        """Set endpoint, the model's name there and the backend's own; nothing is sent yet."""
        self.name = self.version = name
        self._endpoint = endpoint
        self._model = model

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one L2-normalised row per text, shape (len(texts), dimension).

        Raises:
            EmbeddingError: a request failed, or the vectors cannot be those of the texts.
        """
        batches = [texts[start : start + _INPUTS] for start in range(0, len(texts), _INPUTS)]
        payloads = [{"model": self._model, "input": list(batch)} for batch in batches]
        answers = wait_for(self._endpoint.post_all("/embeddings", payloads, _read))
        vectors = list(chain.from_iterable(map(_checked, answers, batches)))
        if len({len(vector) for vector in vectors}) > 1:
            raise EmbeddingError("backend", "the endpoint's vectors differ in length")
        with np.errstate(over="ignore"):  # becomes infinite, and is refused below
            rows = np.array(vectors, dtype=np.float32)
        if not np.isfinite(rows).all() or not rows.any(axis=1).all():
            message = "the endpoint gave a vector of zeros, or one that is not finite"
            raise EmbeddingError("backend", message)
        return unit(rows)


def load(url: str, model: str, options: Mapping[str, str]) -> OpenAIEmbeddings:
    """Connect to an endpoint."""
    endpoint = Endpoint(url, **read_options(url, options, OPTIONS))
    return OpenAIEmbeddings(endpoint, model, f"{model}@{url}")


class _Item(BaseModel):
    index: int
    embedding: list[float]


class _Embeddings(BaseModel):
    data: list[_Item]


def _read(response: httpx.Response) -> _Vectors:
    """Read the vectors in the order of their indices, which are to be 0, 1, and so on.

    Raises:
        Failure: the response is something else.
    """
    try:
        items = _Embeddings.model_validate_json(response.content).data
    except ValidationError:
        raise Failure("backend", f"the answer holds no embeddings: {response.text}") from None
    items.sort(key=lambda item: item.index)
    if [item.index for item in items] != list(range(len(items))):
        raise Failure("backend", "the answer's embeddings are not numbered from 0 on")
    return [item.embedding for item in items]


def _checked(answer: _Vectors | JudgeError, batch: Sequence[str]) -> _Vectors:
    if isinstance(answer, JudgeError):
        raise EmbeddingError(answer.code, answer.message)
    if len(answer) != len(batch):
        message = f"the endpoint gave {len(answer)} embeddings for {len(batch)} texts"
        raise EmbeddingError("backend", message)
    return answer
