"""What a judge needs from a chat or embedding model, and what a backend returns."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from ..contract.types import ErrorCode, JudgeError, MoonlynxError, Turn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Finish = Literal["stop", "length", "refused", "error"]


@dataclass(frozen=True)
class ChatRequest:
    """One prompt."""

    messages: tuple[Turn, ...]  # the conversation, ending in a user turn
    # JSON Schema that the reply must obey where the backend can enforce one
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 600  # tokens the reply may take, at least 1
    temperature: float = 0.0  # 0 decodes greedily
    seed: int | None = None  # makes sampled replies repeatable where the backend can
    logprobs: bool = False  # ask for each reply token's alternatives


@dataclass(frozen=True)
class ReplyToken:
    """One token of a reply with the most likely alternatives at its place (itself among them)."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class ChatReply:
    """What came back for one request."""

    text: str  # the reply; cut off when `finish` is "length"
    finish: Finish  # why the reply ended; with "error", `error` says what went wrong
    input_tokens: int = 0
    output_tokens: int = 0
    # the reply's tokens where logprobs were asked for and the backend has them. Their texts joined
    # are `text`, except for special tokens at the end
    tokens: tuple[ReplyToken, ...] | None = None
    error: JudgeError | None = None


class MissingExtra(MoonlynxError, ImportError):
    """An optional package is not installed; the message names the extra to install."""

    def __init__(self, need: str, extra: str) -> None:
        super().__init__(f"{need} needs an extra: pip install 'moonlynx[{extra}]'")
        self.extra = extra


class BackendError(MoonlynxError, RuntimeError):
    """A backend cannot be loaded: no such model, broken weights, unreachable endpoint."""


class EmbeddingError(BackendError):
    """An embedding model returned no vectors; `code` is that of the verdicts that needed them."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code: ErrorCode = code


@runtime_checkable
class ChatBackend(Protocol):
    """Completes chat requests: one reply per request, in order.

    A fault of one request becomes that reply's `error` (codes `backend`, `timeout`, `too_long`)
    and does not affect the others. One that has its weights in this process states their hash
    as `weights`.
    """

    name: str

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        """Complete the requests."""


@runtime_checkable
class AsyncChatBackend(ChatBackend, Protocol):
    """A chat backend that waits on a network."""

    async def acomplete(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        """Complete the requests without blocking the event loop."""


def known_weights(backend: ChatBackend) -> tuple[str, ...]:
    """Return the hash of the backend's weights, where it states one."""
    weights: str | None = getattr(backend, "weights", None)
    return () if weights is None else (weights,)


async def acomplete(backend: ChatBackend, requests: Sequence[ChatRequest]) -> list[ChatReply]:
    """Complete the requests without blocking the event loop, in a thread if needed."""
    if isinstance(backend, AsyncChatBackend):
        return await backend.acomplete(requests)
    return await asyncio.to_thread(backend.complete, requests)


@runtime_checkable
class EmbeddingBackend(Protocol):
    """Turns texts into unit vectors.

    `version` identifies the weights, by hash where there is a file to hash.
    """

    name: str
    version: str

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one L2-normalised row per text, shape (len(texts), dimension).

        Raises:
            EmbeddingError: `too_long` where one of the texts is at fault, else `backend` or
                `timeout`.
        """


@runtime_checkable
class TokenEmbeddingBackend(Protocol):
    """Turns texts into one unit vector per token; `version` as in `EmbeddingBackend`."""

    name: str
    version: str

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return L2-normalised token states without special tokens, each (tokens, dimension)."""
