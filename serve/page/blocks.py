"""The page's parts and what happens when they are used: all that is written for Gradio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moonlynx.judge.rows import read_jsonl
from moonlynx.judge.types import Example

from ..service import Service
from .asking import SEPARATOR, judge_answer, judge_file

if TYPE_CHECKING:
    from fastapi import FastAPI

_NOBODY = "nobody"
_FORM = 64 << 10  # bytes that an upload holds beside the file
_KEPT = (600, 3_600)  # seconds between looking for old files, and what makes one old
_HEAD = """
<h1>moonlynx</h1>
<p>Is this answer supported by the documents it was given?</p>
"""
_DOCUMENTS = f"Several are parted by a line of dashes: {SEPARATOR}"


def make_app(services: Mapping[str, Service]) -> FastAPI:
    """Make the application that serves the page at `/`, the first judge being the one chosen."""
    import gradio as gr
    from fastapi import FastAPI

    with gr.Blocks(title="moonlynx", analytics_enabled=False, delete_cache=_KEPT) as blocks:
        gr.HTML(_HEAD, elem_classes="mx-head")
        with gr.Tab("One answer"):
            _answer_tab(services)
        with gr.Tab("A file of answers"):
            _file_tab(services)
    # The server's own queue bounds what is under way.
    blocks.queue(default_concurrency_limit=None, api_open=False)
    package = files(__package__)
    largest = next(iter(services.values())).settings.max_body - _FORM
    app: FastAPI = gr.mount_gradio_app(
        FastAPI(docs_url=None, redoc_url=None, openapi_url=None),
        blocks,
        "/",
        # Fonts that are there already: others would be asked of another host.
        theme=gr.themes.Base(font=["system-ui", "sans-serif"], font_mono=["monospace"]),
        css=package.joinpath("page.css").read_text(encoding="utf-8"),
        head=f"<script>{package.joinpath('page.js').read_text(encoding='utf-8')}</script>",
        max_file_size=max(largest, 1),
        footer_links=[],
        run_history=False,
        show_error=False,
        ssr_mode=False,
        mcp_server=False,
    )
    return app


def _answer_tab(services: Mapping[str, Service]) -> None:
    import gradio as gr

    names = list(services)

    async def judge(question: str, documents: str, answer: str, first: str, second: str) -> str:
        chosen = [name for name in dict.fromkeys((first, second)) if name in services]
        return await judge_answer(services, chosen, question, documents, answer)

    examples = _examples()
    with gr.Row(elem_classes="mx-examples"):
        gr.HTML("Examples:", elem_classes="mx-label")
        chips = [gr.Button(str(example.id), size="sm", min_width=80) for example in examples]
    with gr.Row():
        with gr.Column(min_width=280):
            question = gr.Textbox(label="Question", lines=1, elem_id="question")
            documents = gr.Textbox(
                label="Documents", info=_DOCUMENTS, lines=7, max_lines=16, elem_id="documents"
            )
            answer = gr.Textbox(label="Answer", lines=3, max_lines=12, elem_id="answer")
            with gr.Row():
                first = gr.Dropdown(names, label="Judge", min_width=120, elem_id="judge")
                second = gr.Dropdown(
                    [_NOBODY, *names], label="Compare with", min_width=120, elem_id="compare"
                )
            button = gr.Button("Judge", variant="primary", elem_id="ask")
        with gr.Column(min_width=280, scale=2 if len(names) > 1 else 1):
            shown = gr.HTML(elem_id="verdicts", apply_default_css=False)
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


def _file_tab(services: Mapping[str, Service]) -> None:
    import gradio as gr

    async def judge(path: str | None, name: str) -> AsyncIterator[tuple[str, Any]]:
        if path is None:
            raise gr.Error("Choose a file first.", print_exception=False)
        async for html, output in judge_file(services[name], Path(path)):
            yield html, gr.DownloadButton(value=output, interactive=output is not None)

    gr.HTML(
        "<p>JSON Lines: an object with <code>context</code> and <code>answer</code> a line.</p>"
    )
    file = gr.File(label="File", file_types=[".jsonl", ".ndjson"], elem_id="file")
    first = gr.Dropdown(list(services), label="Judge", elem_id="file-judge")
    button = gr.Button("Judge the file", variant="primary", elem_id="ask-file")
    shown = gr.HTML(elem_id="overview", apply_default_css=False)
    download = gr.DownloadButton("Download the verdicts", interactive=False, elem_id="download")
    button.click(
        judge,
        [file, first],
        [shown, download],
        api_visibility="private",
        show_progress="hidden",
    )


def _examples() -> list[Example]:
    lines = files("moonlynx.judge.examples").joinpath("answers.jsonl").read_bytes().splitlines()
    return [row.example for row in read_jsonl(lines) if isinstance(row.example, Example)]


def _fields(example: Example) -> tuple[str, str, str]:
    return example.question, f"\n{SEPARATOR}\n".join(example.context), example.answer
