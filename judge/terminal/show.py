"""Show a verdict to a person on a terminal."""

from collections import Counter
from collections.abc import Iterator

from rich.console import RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..contract.types import BadInput, Example, Verdict
from ..contract.visible import visible, visible_parts
from ..contract.wording import KINDS, STATUSES

_COLOURS = {"PASS": "green", "FAIL": "red", None: "yellow"}
_SHOWN = 160  # characters of evidence shown


def render(verdict: Verdict, example: Example | BadInput) -> RenderableType:
    """Return a panel with the score, the marked answer, the evidence and the reasons.

    Each line of a text begins after the panel's border and the column of names, so that no text
    can draw a panel or a row of its own.
    """
    lines = Table.grid(padding=(0, 2, 0, 0))
    lines.add_column(style="bold", no_wrap=True)
    lines.add_column(overflow="fold")
    if isinstance(example, Example):
        for name, text in _found(verdict, example):
            lines.add_row(name, text)
    for warning in (stage.warning for stage in verdict.stages if stage.warning):
        lines.add_row("Warning", Text(warning, style="yellow"))
    for reason in verdict.reasoning:
        lines.add_row("Reason", Text(visible(reason), style="dim"))
    if verdict.error is not None:
        lines.add_row("Error", Text(visible(f"{verdict.error.code}: {verdict.error.message}")))
    colour = _COLOURS[verdict.score]
    title = Text(verdict.score or "UNSCORED", style=f"bold {colour}")
    if verdict.id is not None:
        title.append("  " + visible(str(verdict.id), lines=False), style="dim")
    return Panel(
        lines,
        title=title,
        title_align="left",
        subtitle=Text(visible(_by(verdict), lines=False)),
        subtitle_align="right",
        border_style=colour,
    )


def _by(verdict: Verdict) -> str:
    judge = f"{verdict.judge.name} {verdict.judge.version}"
    if verdict.faithfulness is not None:
        judge += f" · faithfulness {verdict.faithfulness:.2f}"
    if verdict.probability is not None:
        return f"{judge} · P(hallucinated) {verdict.probability:.2f}"
    return judge if verdict.raw_score is None else f"{judge} · raw score {verdict.raw_score:.2f}"


def _found(verdict: Verdict, example: Example) -> Iterator[tuple[str, Text]]:
    if example.question:
        yield "Question", Text(visible(example.question))
    yield "Answer", _marked(verdict, example)
    if verdict.spans:
        listed = ", ".join(f"“{one.text}” ({one.start}–{one.end})" for one in verdict.spans)
        yield "Unsupported", Text(visible(listed), style="red")
    kinds = Counter(KINDS[one.kind] for one in verdict.sentences if one.kind is not None)
    if kinds:
        yield "Kind", Text("; ".join(f"{count} {said}" for said, count in kinds.items()))
    for one in verdict.citations or ():
        mark = visible(example.answer[one.start : one.end])
        yield "Citation", Text(f"{mark} {STATUSES[one.status]}")
    shown = set()
    for evidence in (e for sentence in verdict.sentences for e in sentence.evidence):
        if evidence not in shown:
            text = example.context[evidence.document][evidence.start : evidence.end]
            text = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
            name = "Evidence" if evidence.relation == "support" else "Conflict"
            source = evidence.source or f"document {evidence.document + 1}"
            yield name, Text(f"[{visible(source, lines=False)}] {visible(text)}")
        shown.add(evidence)


def _marked(verdict: Verdict, example: Example) -> Text:
    answer = Text()
    for part, marked in visible_parts(example.answer, [(s.start, s.end) for s in verdict.spans]):
        answer.append(part, "bold red underline" if marked else None)
    return answer
