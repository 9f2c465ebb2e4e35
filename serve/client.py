"""Clients of a moonlynx server, with the same records as judges in process."""

import asyncio
import json
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence
from typing import Any, Self
from urllib.parse import quote

import httpx
from pydantic import TypeAdapter

from moonlynx.judge.contract.types import Example, MoonlynxError, Range, Score, Verdict

from .growing import GrowingAnswer, GuardEvent, may_be_judged
from .wire import Job, JobPage, Kept, example_sha256

ADDRESS = "http://127.0.0.1:8000"
_TRIES = 5
_PASSING = (429, 503)
_BATCHES = "/v1/batches"
_VERDICTS = TypeAdapter(list[Verdict])


class ServerError(MoonlynxError, RuntimeError):
    """The server refused, failed or could not be reached.

    Attributes:
        status: of HTTP; None where there was no answer.
        code: of the error, as the server gave it.
    """

    def __init__(self, message: str, status: int | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Client:
    """Judges by a server; it may be shared by threads, and is closed at the end of a `with`.

    Where there is no result, its methods raise `ServerError`.
    """

    def __init__(
        self, address: str = ADDRESS, *, api_key: str | None = None, timeout: float = 60.0
    ) -> None:
        """Set the server's address, without /v1, and the seconds to wait for an answer."""
        self._http = httpx.Client(**_options(address, api_key, timeout))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def judge(self, example: Example) -> Verdict:
        """Judge one example."""
        return Verdict.model_validate_json(self._ask("POST", "/v1/judge", _body(example)).content)

    def judge_all(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge examples, as many as the server's queue holds; verdicts come in the same order."""
        reply = self._ask("POST", "/v1/judge", [_body(example) for example in examples])
        return _VERDICTS.validate_json(reply.content)

    def guard(
        self,
        pieces: Iterable[str],
        context: Sequence[str],
        question: str = "",
        halt_at: float = 0.5,
    ) -> Iterator[GuardEvent]:
        """Judge an answer while it is being written; ends with the first `halt`.

        Args:
            pieces: of the answer, in order, as a model streams them.
            context: the documents.
            question: what the answer is to.
            halt_at: P(hallucinated) from which a sentence that FAILs halts.
        """
        growth = _Growth(context, question, halt_at)
        for piece in pieces:
            if growth.add(piece):
                yield from growth.read(self._ask("POST", "/v1/guard", growth.body()))
                if growth.halted:
                    return
        yield from growth.read(self._ask("POST", "/v1/guard", growth.body(final=True)))

    def feedback(
        self,
        about: Example | str,
        label: Score,
        *,
        spans: Sequence[Range] | None = None,
        comment: str | None = None,
    ) -> Kept:
        """Send what a verdict should have been, or that it was right; needs a server with --audit.

        Args:
            about: what was judged, or the verdict's id (of a chat completion, its own); the error's
                status is 404 where its verdict is not stored.
            label: PASS where the documents support the answer, else FAIL.
            spans: with FAIL, the ranges of the answer that are unsupported.
            comment: for those who read it.
        """
        body = _word(about, label, spans, comment)
        return Kept.model_validate_json(self._ask("POST", "/v1/feedback", body).content)

    def batches(self) -> Iterator[Job]:
        """Yield the server's batch files, the newest first; needs a server with --jobs."""
        path: str | None = _BATCHES
        while path is not None:
            page = JobPage.model_validate_json(self._ask("GET", path).content)
            yield from page.data
            path = page.next and f"{_BATCHES}?after={page.next}"

    def delete_batch(self, batch_id: str) -> None:
        """Stop judging a batch file, and delete it with its verdicts."""
        self._ask("DELETE", f"{_BATCHES}/{quote(batch_id, safe='')}")

    def _ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        for tried in range(1, _TRIES + 1):
            try:
                reply = self._http.request(method, path, json=body)
            except httpx.HTTPError as error:
                raise _unreachable(self._http.base_url, error) from None
            if reply.is_success:
                return reply
            time.sleep(_pause(reply, tried))
        raise AssertionError("the last try returns or raises")


class AsyncClient:
    """The same without blocking the event loop, to which it belongs."""

    def __init__(
        self, address: str = ADDRESS, *, api_key: str | None = None, timeout: float = 60.0
    ) -> None:
        """Set the server's address, without /v1, and the seconds to wait for an answer."""
        self._http = httpx.AsyncClient(**_options(address, api_key, timeout))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def judge(self, example: Example) -> Verdict:
        """Judge one example; see `Client.judge`."""
        return Verdict.model_validate_json(
            (await self._ask("POST", "/v1/judge", _body(example))).content
        )

    async def judge_all(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge examples; see `Client.judge_all`."""
        reply = await self._ask("POST", "/v1/judge", [_body(example) for example in examples])
        return _VERDICTS.validate_json(reply.content)

    async def guard(
        self,
        pieces: AsyncIterable[str],
        context: Sequence[str],
        question: str = "",
        halt_at: float = 0.5,
    ) -> AsyncIterator[GuardEvent]:
        """Judge an answer while it is being written; see `Client.guard`."""
        growth = _Growth(context, question, halt_at)
        async for piece in pieces:
            if growth.add(piece):
                for event in growth.read(await self._ask("POST", "/v1/guard", growth.body())):
                    yield event
                if growth.halted:
                    return
        for event in growth.read(await self._ask("POST", "/v1/guard", growth.body(final=True))):
            yield event

    async def feedback(
        self,
        about: Example | str,
        label: Score,
        *,
        spans: Sequence[Range] | None = None,
        comment: str | None = None,
    ) -> Kept:
        """Send what a verdict should have been; see `Client.feedback`."""
        body = _word(about, label, spans, comment)
        return Kept.model_validate_json((await self._ask("POST", "/v1/feedback", body)).content)

    async def batches(self) -> AsyncIterator[Job]:
        """Yield the server's batch files; see `Client.batches`."""
        path: str | None = _BATCHES
        while path is not None:
            page = JobPage.model_validate_json((await self._ask("GET", path)).content)
            for job in page.data:
                yield job
            path = page.next and f"{_BATCHES}?after={page.next}"

    async def delete_batch(self, batch_id: str) -> None:
        """Stop judging a batch file, and delete it; see `Client.delete_batch`."""
        await self._ask("DELETE", f"{_BATCHES}/{quote(batch_id, safe='')}")

    async def _ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        for tried in range(1, _TRIES + 1):
            try:
                reply = await self._http.request(method, path, json=body)
            except httpx.HTTPError as error:
                raise _unreachable(self._http.base_url, error) from None
            if reply.is_success:
                return reply
            await asyncio.sleep(_pause(reply, tried))
        raise AssertionError("the last try returns or raises")


class _Growth:
    """How far the server has judged an answer that is being written."""

    def __init__(self, context: Sequence[str], question: str, halt_at: float) -> None:
        self._state = GrowingAnswer(
            context=tuple(context), question=question, answer="", halt_at=halt_at
        )
        self.halted = False

    def add(self, piece: str) -> bool:
        """Add a piece; return whether there is something to judge now."""
        self._state = self._state.model_copy(update={"answer": self._state.answer + piece})
        return may_be_judged(self._state.answer, self._state.judged)

    def body(self, *, final: bool = False) -> Any:
        """Return the request."""
        return self._state.model_copy(update={"final": final}).model_dump(mode="json")

    def read(self, reply: httpx.Response) -> Iterator[GuardEvent]:
        """Yield the events of the reply except the one that says how far it came."""
        for line in reply.iter_lines():
            if not line.startswith("data: "):
                continue
            event = GuardEvent.model_validate_json(line.removeprefix("data: "))
            if event.error is not None:
                raise ServerError(event.error.message, code=event.error.code)
            self.halted = event.event == "halt"
            if event.judged is None:
                yield event
            else:
                self._state = self._state.model_copy(update={"judged": event.judged})


def _options(address: str, api_key: str | None, timeout: float) -> dict[str, Any]:
    headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
    return {"base_url": address, "headers": headers, "timeout": timeout}


def _body(example: Example) -> Any:
    return example.model_dump(mode="json", exclude_none=True)


def _word(
    about: Example | str, label: Score, spans: Sequence[Range] | None, comment: str | None
) -> Any:
    named = {"verdict_id": about}
    if isinstance(about, Example):
        named = {"example_sha256": example_sha256(about)}
    ranges = None if spans is None else [{"start": s.start, "end": s.end} for s in spans]
    return {**named, "label": label, "spans": ranges, "comment": comment}


def _unreachable(address: httpx.URL, error: httpx.HTTPError) -> ServerError:
    reason = str(error) or type(error).__name__
    return ServerError(f"no answer from {address}: {reason}; is `moonlynx serve` running there?")


def _pause(reply: httpx.Response, tried: int) -> float:
    """Return the seconds to wait before the next try."""
    if reply.status_code in _PASSING and tried < _TRIES:
        return float(reply.headers.get("Retry-After", tried))
    try:
        error = json.loads(reply.text)["error"]
        message, code = str(error["message"]), str(error["code"])
    except (ValueError, KeyError, TypeError):
        message, code = reply.text[:200], None
    raise ServerError(f"HTTP {reply.status_code}: {message}", reply.status_code, code)
