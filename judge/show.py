"""Show a verdict to a person on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from .types import BadInput, Example, Verdict

_COLOURS = {"PASS": "green", "FAIL": "red", None: "yellow"}
_SHOWN = 160  # characters of evidence shown


def render(verdict: Verdict, example: Example | BadInput) -> RenderableType:
    """Give a panel with the score, the marked answer, the evidence and the reasons."""
    lines = Table.grid(padding=(0, 2, 0, 0))
    lines.add_column(style="bold", no_wrap=True)
    lines.add_column(overflow="fold")
    if isinstance(example, Example):
        for name, text in _found(verdict, example):
            lines.add_row(name, text)
    for reason in verdict.reasoning:
        lines.add_row("Reason", Text(reason, style="dim"))
    if verdict.error is not None:
        lines.add_row("Error", Text(f"{verdict.error.code}: {verdict.error.message}"))
    colour = _COLOURS[verdict.score]
    title = Text(verdict.score or "UNSCORED", style=f"bold {colour}")
    if verdict.id is not None:
        title.append(f"  {verdict.id}", style="dim")
    return Panel(
        lines,
        title=title,
        title_align="left",
        subtitle=Text(f"{verdict.judge.name} {verdict.judge.version}{_numbers(verdict)}"),
        subtitle_align="right",
        border_style=colour,
    )


def _numbers(verdict: Verdict) -> str:
    if verdict.probability is not None:
        return f" · P(hallucinated) {verdict.probability:.2f}"
    return "" if verdict.raw_score is None else f" · raw score {verdict.raw_score:.2f}"


def _found(verdict: Verdict, example: Example) -> Iterator[tuple[str, Text]]:
    if example.question:
        yield "Question", Text(example.question)
    yield "Answer", _marked(verdict, example)
    if verdict.spans:
        listed = ", ".join(f"“{span.text}” ({span.start}–{span.end})" for span in verdict.spans)
        yield "Unsupported", Text(listed, style="red")
    shown = set()
    for evidence in (e for sentence in verdict.sentences for e in sentence.evidence):
        if evidence not in shown:
            text = example.context[evidence.document][evidence.start : evidence.end]
            text = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
            yield "Evidence", Text(f"[document {evidence.document + 1}] {text}")
        shown.add(evidence)


def _marked(verdict: Verdict, example: Example) -> Text:
    answer = Text(example.answer)
    for span in verdict.spans:
        answer.stylize("bold red underline", span.start, span.end)
    return answer
