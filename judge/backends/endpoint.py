"""Requests to an OpenAI-compatible endpoint: concurrency, timeouts and retries.

Transient failures (429, 5xx, timeouts, a refused connection) are retried after random, growing
waits, never sooner than the server asks. A lasting failure is the error of that request alone.
"""

import asyncio
import os
import re
import time
from asyncio import AbstractEventLoop, Semaphore
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import httpx
from pydantic import BaseModel, ValidationError
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_random_exponential,
)

from ..contract.spec import SpecError
from ..contract.types import ErrorCode, JudgeError
from .base import BackendError
from .options import seconds, whole

KEY_VARIABLE = "MOONLYNX_API_KEY"
OPTIONS: dict[str, Callable[[str], object]] = {
    "concurrency": whole(1),
    "timeout": seconds,
    "retries": whole(0),
}
_BACKOFF = wait_random_exponential(multiplier=0.5, max=20)
_LONGEST_WAIT = 60.0  # seconds; a server that asks for more is taken to refuse
_UNBOUNDED = 1 << 30
_MESSAGE_LENGTH = 500  # characters kept of a server's message
_TOO_LONG = re.compile(
    r"context[_ ](length|window|size)|max_model_len|(prompt|input|message)s? (is|are) too long"
    r"|maximum (prompt|input|sequence|number of) ?(length|tokens)|max_(input|new|total)_tokens",
    re.IGNORECASE,
)

Answer = TypeVar("Answer")


class Failure(Exception):
    """An attempt that got no answer.

    Attributes:
        code: the verdict's error code.
        passing: a retry may succeed.
        wait: seconds to wait before that, where the server asked for it.
        unreachable: the request did not reach a server.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        passing: bool = False,
        wait: float = 0.0,
        unreachable: bool = False,
    ) -> None:
        super().__init__(message)
        self.code: ErrorCode = code
        self.passing = passing
        self.wait = wait
        self.unreachable = unreachable


class Endpoint:
    """The base URL of an API, and the key to it in the environment's MOONLYNX_API_KEY."""

    def __init__(
        self, url: str, *, concurrency: int = 16, timeout: float = 60.0, retries: int = 5
    ) -> None:
        """Set the endpoint; nothing is sent yet.

        Args:
            url: as a rule ending in /v1.
            concurrency: requests under way at once, over all calls in one event loop.
            timeout: seconds that one attempt may take.
            retries: further attempts after the first.

        Raises:
            SpecError: the URL cannot be one.
        """
        try:
            self._url = str(httpx.URL(url)).rstrip("/")
        except httpx.InvalidURL as error:
            raise SpecError(f"{url!r} is no URL: {error}") from None
        self._concurrency = concurrency
        self._timeout = timeout
        self._retries = retries
        self._key = os.environ.get(KEY_VARIABLE)
        self._headers = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
        self._tls = httpx.create_ssl_context()
        self._slots: WeakKeyDictionary[AbstractEventLoop, Semaphore] = WeakKeyDictionary()

    async def post_all(
        self,
        path: str,
        payloads: Sequence[Mapping[str, Any]],
        read: Callable[[httpx.Response], Answer],
    ) -> list[Answer | JudgeError]:
        """Post every payload to `path`.

        Returns:
            For each payload what was read, or why there is nothing: `too_long`, `refused`,
            `timeout` or `backend`.
        """
        outage = asyncio.Event()
        client = httpx.AsyncClient(
            base_url=self._url,
            headers=self._headers,
            verify=self._tls,
            timeout=None,  # noqa: S113 (one clock runs over a whole try, in _try)
            limits=httpx.Limits(max_connections=self._concurrency),
        )
        async with client, asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._post(partial(self._try, client, path, body, read), outage))
                for body in payloads
            ]
        return [task.result() for task in tasks]

    async def _post(
        self, attempt: Callable[[], Coroutine[Any, Any, Answer]], outage: asyncio.Event
    ) -> Answer | JudgeError:
        tries = AsyncRetrying(
            stop=stop_after_attempt(1 + self._retries),
            wait=_wait,
            # Once one request has found no server, the others need not wait as long again.
            retry=retry_if_exception(
                lambda error: (
                    isinstance(error, Failure)
                    and error.passing
                    and not (error.unreachable and outage.is_set())
                )
            ),
            reraise=True,
        )
        loop = asyncio.get_running_loop()
        async with self._slots.setdefault(loop, Semaphore(self._concurrency)):
            try:
                answer: Answer = await tries(attempt)
            except Failure as failure:
                if failure.unreachable:
                    outage.set()
                number = tries.statistics["attempt_number"]
                tried = f" (tried {number} times)" if number > 1 else ""
                return JudgeError(code=failure.code, message=self._bounded(str(failure)) + tried)
        outage.clear()
        return answer

    async def _try(
        self,
        client: httpx.AsyncClient,
        path: str,
        payload: Mapping[str, Any],
        read: Callable[[httpx.Response], Answer],
    ) -> Answer:
        try:
            async with asyncio.timeout(self._timeout):
                response = await client.post(path, json=payload)
        except TimeoutError:
            message = (
                f"no reply from {self._url} within {self._timeout:g} seconds; "
                "where it needs longer, say so as in ?timeout=600"
            )
            raise Failure("timeout", message, passing=True) from None
        except httpx.HTTPError as error:
            raise Failure(
                "backend", self._unreachable(error), passing=True, unreachable=True
            ) from None
        if not response.is_success:
            raise _failure(response)
        return read(response)

    def only_model(self) -> str:
        """Ask for the model that the endpoint serves.

        Raises:
            BackendError: it is not there, or serves none or several; names them.
        """
        names = list(self.models())
        if len(names) != 1:
            served = ", ".join(names[:20]) or "none"
            raise BackendError(f"name the model to use at {self._url}; it serves {served}")
        return names[0]

    def models(self) -> dict[str, int]:
        """Ask for the models that the endpoint serves: the tokens each can take, by name.

        Where the endpoint does not say how many, no model bounds them.

        Raises:
            BackendError: it is not there, or lists no models.
        """
        try:
            response = httpx.get(f"{self._url}/models", headers=self._headers, timeout=30.0)
        except httpx.HTTPError as error:
            raise BackendError(self._unreachable(error)) from None
        if not response.is_success:
            message = f"cannot ask {self._url} for its models: {_failure(response)}"
            raise BackendError(self._bounded(message))
        try:
            listed = _Models.model_validate_json(response.content).data
        except ValidationError:
            message = f"{self._url}/models lists no models; is the URL the API's base?"
            raise BackendError(message) from None
        return {model.id: model.max_model_len or _UNBOUNDED for model in listed}

    def _unreachable(self, error: httpx.HTTPError) -> str:
        reason = str(error) or type(error).__name__
        return f"cannot reach {self._url}: {reason}; is the server up, and is this its URL?"

    def _bounded(self, message: str) -> str:
        """Keep the key out of a server's message, and the message short."""
        if self._key:
            message = message.replace(self._key, "***")
        if len(message) > _MESSAGE_LENGTH:
            message = message[: _MESSAGE_LENGTH - 1] + "…"
        return message


class _Model(BaseModel):
    id: str
    max_model_len: int | None = None


class _Models(BaseModel):
    data: list[_Model]


def wait_for(coroutine: Coroutine[Any, Any, Answer]) -> Answer:
    """Run the coroutine to its end; within a running event loop, in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def _wait(state: RetryCallState) -> float:
    failure = state.outcome.exception() if state.outcome else None
    asked = failure.wait if isinstance(failure, Failure) else 0.0
    return asked + _BACKOFF(state)


def _failure(response: httpx.Response) -> Failure:
    """Return the failure that an error response reports, and whether a retry may help."""
    status, (message, code) = response.status_code, _complaint(response)
    text = f"HTTP {status}: {message}"
    if status < 500 and code == "content_filter":
        return Failure("refused", text)
    if status in (400, 413, 422) and _TOO_LONG.search(f"{code} {message}"):
        return Failure("too_long", text)
    if status == 404:
        text += " (is the URL the API's base, as a rule ending in /v1, and the model served there?)"
    wait = _retry_after(response.headers.get("retry-after"))
    return Failure(
        "timeout" if status in (408, 504) else "backend",
        text,
        passing=(status in (408, 409, 429) or status >= 500) and wait <= _LONGEST_WAIT,
        wait=wait,
    )


def _complaint(response: httpx.Response) -> tuple[str, str]:
    """Find the server's message and code, in any of the forms in use; else return the body."""
    try:
        body = response.json()
    except ValueError:
        return response.text.strip() or "an empty body", ""
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return str(error), ""
    message = error.get("message") or error.get("detail") or response.text
    return str(message), str(error.get("code") or error.get("type") or "")


def _retry_after(value: str | None) -> float:
    """Read the header, which holds seconds or a date, as seconds from now."""
    if value is None:
        return 0.0
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0.0
