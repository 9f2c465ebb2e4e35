"""The page's parts and what happens when they are used: all that is written for Gradio."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib.resources import files
from typing import Any

from fastapi import FastAPI

from moonlynx.judge.contract.types import Example
from moonlynx.judge.rows.examples import read_jsonl

from ..http.errors import answer_errors
from ..service import Service
from .answers import SEPARATOR, judge_answer, routes
from .markup import escape
from .texts import OnlyTexts

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
_EXPECT = """
<div class="mx-expect">
<h3>The verdict appears here</h3>
<ul>
<li><b class="mx-pass">PASS</b>: the documents support the answer.</li>
<li><b class="mx-fail">FAIL</b>: they do not; <mark>unsupported words</mark> are underlined.</li>
<li>Choose a sentence of the answer, and its evidence in the documents is marked.</li>
</ul>
<p>Fill in the form or choose an example.</p>
</div>
"""
_FILE = """
<form id="file-form" class="mx-file">
<p><label for="file">File</label> <input type="file" id="file" accept=".jsonl,.ndjson">
<small>JSON Lines: an object with <code>context</code> and <code>answer</code> a line.</small></p>
<p><label for="file-judge">Judge</label> <select id="file-judge">%s</select></p>
<p><button id="ask-file">Judge the file</button></p>
<div id="overview"></div>
<p><a id="download" download="verdicts.jsonl" hidden>Download the verdicts</a></p>
</form>
"""


def make_app(services: Mapping[str, Service]) -> FastAPI:
    """Create the application that serves the page at `/`, with the first judge selected."""
    import gradio as gr

    with gr.Blocks(title="moonlynx", analytics_enabled=False) as blocks:
        gr.HTML(_HEAD, elem_classes="mx-head", padding=False)
        with gr.Tab("One answer"):
            _answer_tab(services)
        with gr.Tab("A file of answers"):
            options = "".join(f"<option>{escape(name)}</option>" for name in services)
            gr.HTML(_FILE % options, apply_default_css=False)
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
            shown = gr.HTML(_EXPECT, elem_id="verdicts", apply_default_css=False)
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
