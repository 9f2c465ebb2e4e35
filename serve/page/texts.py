"""What may reach Gradio: texts, and the page's own functions.

Gradio takes an object among a function's inputs for a file, whatever the input is, and reads its
path or fetches its URL before the function is called. So no object comes that far.
"""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moonlynx.judge.contract.types import BadInput, first_fault

from .front import JUDGING

_Number = Annotated[int, Field(ge=0, le=10_000)]


class _Call(BaseModel):
    """A call of one of the page's functions, as Gradio's script in the browser sends it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    data: Annotated[list[str | None], Field(max_length=16)]
    fn_index: _Number
    session_hash: Annotated[str, Field(pattern="^[0-9a-z]{1,64}$")]
    trigger_id: _Number | None = None
    event_data: None = None


class OnlyTexts:
    """Checks calls of the page's functions, and passes on what was checked. Plain ASGI."""

    def __init__(self, app: ASGIApp, functions: int) -> None:
        self._app = app
        self._functions = functions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "http" and scope["path"] == JUDGING:
            receive = _replay(self._checked(await Request(scope, receive).body()), receive)
        await self._app(scope, receive, send)

    def _checked(self, body: bytes) -> bytes:
        try:
            call = _Call.model_validate(json.loads(body))
        except ValidationError as error:
            raise BadInput("bad_input", *first_fault(error, "body")) from None
        except (ValueError, RecursionError):
            raise BadInput("bad_input", "body", "is not JSON; reload the page") from None
        if call.fn_index >= self._functions:
            raise BadInput("bad_input", "fn_index", "is unknown; reload the page")
        return json.dumps(call.model_dump()).encode()


def _replay(body: bytes, then: Receive) -> Receive:
    """Return a `receive` that returns a body that was read already."""
    left: list[Message] = [{"type": "http.request", "body": body}]

    async def receive() -> Message:
        return left.pop() if left else await then()

    return receive
