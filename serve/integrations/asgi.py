"""ASGI middleware: sends a text sentence by sentence, as far as its documents support it.

The app, of any framework on ASGI, puts `documents` (and `question`, where there is one) into the
request's state and answers in `text/plain`, streamed or whole. A response without documents passes
as it is.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections import Counter
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from moonlynx.judge.contract.base import Judge
from moonlynx.judge.contract.types import BadInput, MoonlynxError, first_fault
from moonlynx.judge.registry import DEFAULT_JUDGE

from ..growing import GrowingAnswer
from .grounding import Grounding, OnFail, read_example

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

NOTICE = "[Withheld: the documents do not support this sentence.]"
# Extensions of ASGI by which a server sends a file that no middleware sees.
_UNSEEN = ("http.response.pathsend", "http.response.zerocopysend")


class Unguardable(MoonlynxError, TypeError):
    """A response has documents, but is of a form that the guard does not read."""


class GroundednessGuard:
    """Ends a response before the first sentence that FAILs or has no score, with a notice.

    Each sentence is sent once it has passed, and judged once. The app's next piece is then
    refused as if the client had gone away, so it need not write the rest.

    With `on_fail` "filter" or "annotate" the response is held until it is whole, and sent without
    its unsupported sentences, or with marks behind them. The header `moonlynx-correction` counts
    what was changed, and the request's state gets the whole `correction`.
    """

    def __init__(
        self,
        app: ASGIApp,
        judge: str | Judge = DEFAULT_JUDGE,
        *,
        notice: str = NOTICE,
        on_fail: OnFail = "block",
    ) -> None:
        self._app = app
        self.grounding = Grounding(judge)
        self.notice = notice
        self.on_fail = on_fail

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        response = _Response(send, state, self)
        try:
            await self._app(scope, receive, response.send)
        except Exception:  # frameworks wrap the error by which the app was stopped
            if not response.ended:
                raise


class _Response:
    """One response on its way out; `ended` once a sentence was held back."""

    def __init__(self, send: Send, state: dict[str, Any], guard: GroundednessGuard):
        self.ended = False
        self._send = send
        self._state = state
        self._guard = guard
        self._held: Message | None = None  # the response's start, where its body has to be whole
        self._decoder = getincrementaldecoder("utf-8")()
        self._growing: GrowingAnswer | None = None
        self._given = 0

    async def send(self, message: Message) -> None:
        """Handle a message of the app."""
        if self.ended:
            raise OSError("the response has ended")  # what ASGI raises for a client that is gone
        kind = message["type"]
        # Of a failure there is nothing to judge.
        if kind == "http.response.start" and 200 <= message["status"] < 300:
            message = self._begin(message)
        if self._growing is not None and kind in _UNSEEN:
            raise Unguardable(f"{kind} with documents; answer by text the guard can read")
        if self._growing and kind == "http.response.start" and self._guard.on_fail != "block":
            self._held = message
        elif self._growing is None or kind != "http.response.body":
            await self._send(message)
        else:
            await self._grow(self._growing, message)

    def _begin(self, message: Message) -> Message:
        """Start to guard the response where it has documents; its length is not known then."""
        if "documents" not in self._state:
            return message
        headers = {name.lower(): value for name, value in message.get("headers", ())}
        media, _, charset = headers.get(b"content-type", b"").lower().partition(b";")
        charset = charset.replace(b" ", b"") or b"charset=utf-8"
        if (media.strip(), charset) != (b"text/plain", b"charset=utf-8"):
            raise Unguardable("a response with documents must be text/plain in UTF-8")
        if b"content-encoding" in headers:
            raise Unguardable("the response is compressed; put the guard inside the compression")
        try:
            self._growing = GrowingAnswer(
                question=self._state.get("question", ""),
                context=self._state["documents"],
                answer="",
            )
        except ValidationError as error:
            field, fault = first_fault(error, "documents")
            named = field.replace("context", "documents", 1)
            raise BadInput("bad_input", f"the request's state, {named}", fault) from None
        kept = [pair for pair in message["headers"] if pair[0].lower() != b"content-length"]
        return {**message, "headers": kept}

    async def _grow(self, growing: GrowingAnswer, message: Message) -> None:
        """Send the sentences that a piece of the body completes, as they pass."""
        final = not message.get("more_body", False)
        text = self._decoder.decode(message.get("body", b""), final)
        grown = {"answer": growing.answer + text, "judged": self._given, "final": final}
        growing = self._growing = growing.model_copy(update=grown)
        if self._held is not None:
            if final:
                await self._correct(growing, self._held)
            return
        for piece in growing.whole_sentences():
            verdict = await self._guard.grounding.acheck(growing.example(piece))
            if verdict.score != "PASS":
                self.ended = True
                # The blanks before the sentence are the answer's own.
                blanks = growing.answer[self._given : piece.start]
                await self._give(blanks + self._guard.notice, final=True)
                return
            await self._give(growing.answer[self._given : piece.end])
            self._given = piece.end
        if final:
            await self._give(growing.answer[self._given :], final=True)

    async def _correct(self, growing: GrowingAnswer, start: Message) -> None:
        """Send a whole response, corrected; one that could not be scored is withheld."""
        text, guard = growing.answer, self._guard
        if text.strip():
            example = read_example(text, growing.context, growing.question)
            made = await guard.grounding.acorrect(example, guard.on_fail)
            self._state["correction"] = made
            counts = Counter(change.action for change in made.changes)
            said = [made.outcome, *(f"{action}={count}" for action, count in counts.items())]
            header = (b"moonlynx-correction", "; ".join(said).encode())
            start = {**start, "headers": [*start["headers"], header]}
            text = guard.notice if made.outcome == "unscored" else made.answer
        await self._send(start)
        await self._give(text, final=True)

    async def _give(self, text: str, final: bool = False) -> None:
        body = {"type": "http.response.body", "body": text.encode(), "more_body": not final}
        await self._send(body)
