"""Rows to vLLM's batch files and back: many answers judged offline, by one command of vLLM's.

`write` makes a file of chat completions, `vllm run-batch` completes it, and `read` makes the
verdicts that the Lynx judge over HTTP would give. A request's `custom_id` is the hash of its body:
replies may come in any order.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from moonlynx.judge.backends.endpoint import Endpoint, Failure
from moonlynx.judge.backends.openai import OpenAIBackend
from moonlynx.judge.batch.judging import BATCH_SIZE, batches, judge_batch
from moonlynx.judge.contract.types import BadInput, JudgeError
from moonlynx.judge.judges.lynx import LynxJudge
from moonlynx.judge.rows.examples import Row

_PATH = "/v1/chat/completions"
_NOWHERE = "http://run-batch"
_NOT_ASKED = JudgeError(code="backend", message="not asked yet")

Answer = TypeVar("Answer")
Payload = Mapping[str, Any]


class _Response(BaseModel):
    status_code: int = 200
    body: dict[str, Any] | None = None


class _Reply(BaseModel):
    """A line of the file that vLLM writes."""

    custom_id: str
    response: _Response | None = None
    error: Any = None


def write_requests(rows: Iterable[Row], model: str, path: Path) -> int:
    """Write the requests that the Lynx judge makes of the rows; those asked alike only once."""
    with path.open("wb") as file:
        endpoint = _Written(file)
        judge = _judge(endpoint, model)
        for batch in batches(rows, BATCH_SIZE):
            judge_batch(judge, batch)
    return endpoint.count


def replying_judge(replies: Path, model: str) -> LynxJudge:
    """Return a Lynx judge that reads its replies from a file.

    A request without a reply there leaves its row unscored, with the code `backend`; one that vLLM
    refused, with the code that the same refusal has over HTTP.
    """
    return _judge(_Replayed(_read_replies(replies)), model)


def _judge(endpoint: Endpoint, model: str) -> LynxJudge:
    name = f"{model}@vllm-run-batch"
    return LynxJudge(OpenAIBackend(endpoint, model, name), model=name)


def _id_of(payload: Payload) -> str:
    body = json.dumps(payload, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(body.encode("ascii")).hexdigest()


def _read_replies(path: Path) -> dict[str, _Reply]:
    replies = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                reply = _Reply.model_validate_json(line)
            except ValidationError:
                message = "is not a reply; was the file written by `vllm run-batch`?"
                raise BadInput("bad_input", f"{path}, line {number}", message) from None
            replies[reply.custom_id] = reply
    return replies


class _Written(Endpoint):
    """Writes requests down instead of sending them."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(_NOWHERE)
        self._file = file
        self._ids: set[str] = set()

    @property
    def count(self) -> int:
        """Return the number of requests written."""
        return len(self._ids)

    async def post_all(
        self,
        path: str,  # noqa: ARG002 (all go to one)
        payloads: Sequence[Payload],
        read: Callable[[httpx.Response], Answer],  # noqa: ARG002 (there is nothing to read)
    ) -> list[Answer | JudgeError]:
        """Write the payloads."""
        for payload in payloads:
            custom_id = _id_of(payload)
            if custom_id not in self._ids:
                self._ids.add(custom_id)
                line = {"custom_id": custom_id, "method": "POST", "url": _PATH, "body": payload}
                self._file.write(json.dumps(line).encode("ascii") + b"\n")
        return [_NOT_ASKED] * len(payloads)


class _Replayed(Endpoint):
    """Answers from a file, each try as a server would have."""

    def __init__(self, replies: Mapping[str, _Reply]) -> None:
        super().__init__(_NOWHERE, retries=0)
        self._replies = replies

    async def _try(
        self,
        client: httpx.AsyncClient,  # noqa: ARG002 (nothing is sent)
        path: str,
        payload: Payload,
        read: Callable[[httpx.Response], Answer],
    ) -> Answer:
        if (reply := self._replies.get(_id_of(payload))) is None:
            raise Failure("backend", "the file has no reply to this row; was it changed?")
        answer = _answer(reply)
        transport = httpx.MockTransport(lambda _: answer)
        async with httpx.AsyncClient(
            transport=transport, base_url=_NOWHERE, trust_env=False
        ) as replaying:
            return await super()._try(replaying, path, payload, read)


def _answer(reply: _Reply) -> httpx.Response:
    """Return what vLLM's server would have answered."""
    response = reply.response or _Response(status_code=500)
    if response.body is not None:
        return httpx.Response(response.status_code, json=response.body)
    return httpx.Response(max(400, response.status_code), json=reply.error)
