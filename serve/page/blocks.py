"""The page's parts and what happens when they are used: all that is written for Gradio."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from importlib.resources import files
from typing import Annotated, Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moonlynx.judge.contract.types import BadInput, Example, first_fault
from moonlynx.judge.rows.examples import read_jsonl

from ..http.errors import answer_errors
from ..service import Service
from .answers import SEPARATOR, judge_answer, routes
from .front import JUDGING
from .verdict import template

_NO_JUDGE = "none"
_SESSIONS = 64  # whose last texts Gradio holds in memory
_TITLES = {
    "library-hours": "Library hours",
    "library-cafe": "Library café",
    "kettle-warranty": "Kettle warranty",
    "train-fare": "Train fare",
    "lab-result": "Lab result",
    "museum-zh": "Museum hours (Chinese)",
}
_HEAD = """
<h1>moonlynx</h1>
<p>Is this answer supported by the documents it was given?</p>
"""
_DOCUMENTS = f"Separate documents by a line of dashes: {SEPARATOR}"


def make_app(services: Mapping[str, Service]) -> FastAPI:
    """Create the application that serves the page at `/`, with the first judge selected."""
    import gradio as gr

    with gr.Blocks(title="moonlynx", analytics_enabled=False) as blocks:
        gr.HTML(_HEAD, elem_classes="mx-head", padding=False)
        with gr.Tab("One answer"):
            _answer_tab(services)
        with gr.Tab("A file of answers"):
            form = template("file.html").render(judges=list(services))
            gr.HTML(form, apply_default_css=False)
    # The server's own queue bounds what is under way.
    blocks.queue(default_concurrency_limit=None, api_open=False)
    blocks.state_session_capacity = _SESSIONS
    package = files(__package__)
    shown = gr.mount_gradio_app(
        FastAPI(),
        blocks,
        "/",
        # Fonts that are there already: others would be asked of another host.
        theme=gr.themes.Base(font=["system-ui", "sans-serif"], font_mono=["monospace"]),
        css=package.joinpath("page.css").read_text(encoding="utf-8"),
        head=f"<script>{package.joinpath('page.js').read_text(encoding='utf-8')}</script>",
        footer_links=[],
        run_history=False,
        show_error=False,
        ssr_mode=False,
        mcp_server=False,
    )
    app = FastAPI(lifespan=lambda _: shown.router.lifespan_context(shown), openapi_url=None)
    answer_errors(app)
    app.include_router(routes(services))
    app.mount("/", OnlyTexts(shown, len(blocks.fns)))
    return app


def _answer_tab(services: Mapping[str, Service]) -> None:
    import gradio as gr

    names = list(services)

    async def judge(question: str, documents: str, answer: str, first: str, second: str) -> str:
        chosen = [name for name in dict.fromkeys((first, second)) if name in services]
        return await judge_answer(services, chosen, question, documents, answer)

    examples = _examples()
    with gr.Row(elem_classes="mx-examples"):
        gr.HTML("Examples:", elem_classes="mx-label", padding=False)
        chips = [gr.Button(_TITLES[str(one.id)], size="sm") for one in examples]
    with gr.Row():
        with gr.Column(min_width=280, elem_id="form"):
            question = gr.Textbox(label="Question", lines=1, elem_id="question")
            documents = gr.Textbox(
                label="Documents", info=_DOCUMENTS, lines=7, max_lines=16, elem_id="documents"
            )
            answer = gr.Textbox(label="Answer", lines=3, max_lines=12, elem_id="answer")
            with gr.Row():
                first = gr.Dropdown(names, label="Judge", min_width=120, elem_id="judge")
                second = gr.Dropdown(
                    [_NO_JUDGE, *names], label="Compare with", min_width=120, elem_id="compare"
                )
            button = gr.Button("Judge", variant="primary", elem_id="ask")
        with gr.Column(min_width=280, scale=2 if len(names) > 1 else 1):
            shown = gr.HTML(
                template("expect.html").render(), elem_id="verdicts", apply_default_css=False
            )
    inputs = [question, documents, answer, first, second]
    asked: dict[str, Any] = {
        "fn": judge,
        "inputs": inputs,
        "outputs": shown,
        "api_visibility": "private",
        "show_progress": "minimal",
    }
    gr.on([button.click, question.submit, documents.submit, answer.submit], **asked)
    for chip, example in zip(chips, examples, strict=True):
        filled = chip.click(
            partial(_fields, example),
            outputs=[question, documents, answer],
            api_visibility="private",
        )
        filled.then(**asked)


def _examples() -> list[Example]:
    lines = files("moonlynx.judge.examples").joinpath("answers.jsonl").read_bytes().splitlines()
    return [row.example for row in read_jsonl(lines) if isinstance(row.example, Example)]


def _fields(example: Example) -> tuple[str, str, str]:
    return example.question, f"\n{SEPARATOR}\n".join(example.context), example.answer


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
    """Checks calls of the page's functions, and passes on what was checked. Plain ASGI.

    Gradio takes an object among a function's inputs for a file, whatever the input is, and reads
    its path or fetches its URL before the function is called. So no object comes that far.
    """

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
