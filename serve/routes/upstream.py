"""The chat endpoint behind the guard, and its chunks."""

import json
import os
from collections.abc import AsyncIterator
from typing import Any

import httpx
from starlette.exceptions import HTTPException

from moonlynx.judge.backends.endpoint import KEY_VARIABLE

Chunk = dict[str, Any]


class Upstream:
    """The chat endpoint, and the key to it in the environment's MOONLYNX_API_KEY."""

    def __init__(self, url: str, timeout: float) -> None:
        """Set its base URL, as a rule ending in /v1, and the seconds to wait for each piece."""
        key = os.environ.get(KEY_VARIABLE)
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._timeout = timeout
        self._tls = httpx.create_ssl_context()

    async def stream(self, body: Chunk) -> AsyncIterator[Chunk]:
        """Yield the chunks of a streamed completion."""
        client = httpx.AsyncClient(verify=self._tls, timeout=self._timeout, headers=self._headers)
        try:
            async with client, client.stream("POST", self._url, json=body) as reply:
                if not reply.is_success:
                    said = (await reply.aread()).decode("utf-8", "replace")[:500]
                    message = f"the chat endpoint answered HTTP {reply.status_code}: {said}"
                    raise HTTPException(502, message)
                async for line in reply.aiter_lines():
                    data = line.removeprefix("data:").strip()
                    if line.startswith("data:") and data != "[DONE]":
                        yield json.loads(data)
        except (httpx.HTTPError, ValueError) as error:
            message = f"the chat endpoint gave no complete answer: {type(error).__name__}"
            raise HTTPException(502, message) from None


async def join(chunks: AsyncIterator[Chunk]) -> Chunk:
    """Join the chunks into one completion, with the events of all its sentences.

    Raises:
        HTTPException: 502 where there are none.
    """
    whole = [chunk async for chunk in chunks]
    if not whole:
        raise HTTPException(502, "the chat endpoint returned an empty answer")
    choices = [choice for chunk in whole for choice in chunk.get("choices") or ()]
    text = "".join(choice["delta"].get("content") or "" for choice in choices)
    finish = next((one["finish_reason"] for one in choices if one["finish_reason"]), None)
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    head = {name: whole[0].get(name) for name in ("id", "created", "model")}
    return head | {
        "object": "chat.completion",
        "choices": [choice],
        "usage": next((chunk["usage"] for chunk in whole if chunk.get("usage")), None),
        "moonlynx": [chunk["moonlynx"] for chunk in whole if "moonlynx" in chunk],
    }
