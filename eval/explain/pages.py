"""The page as HTML, self-contained and without scripts, or as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.types import Evidence
from moonlynx.judge.contract.visible import visible, visible_parts
from moonlynx.judge.judges.findings import closest_evidence

from ..markdown import UNDEFINED, table
from .batch import Judged
from .faults import Faults, Share, kinds_of

_TEMPLATE = Path(__file__).with_name("page.html")
_SHOWN = 600  # characters of a text
_LISTED = 8  # numbers of unscored rows


class Case(NamedTuple):
    """One answer as the page shows it: its parts, each with whether it is unsupported."""

    title: str
    question: str
    answer: list[tuple[str, bool]]
    kinds: str
    evidence: list[tuple[str, str]]
    reasons: list[str]


def render(faults: Faults, form: Literal["html", "md"], source: str) -> str:
    """Return the page; `source` is the file of the verdicts.

    Raises:
        MissingExtra: HTML without jinja2.
    """
    cases = [_case(one) for one in faults.worst]
    if form == "md":
        return "\n".join(_markdown(faults, cases, source))
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise MissingExtra("A report in HTML", "eval") from None
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        faults=faults, cases=cases, source=source, figures=figures, numbers=numbers, show=_show
    )


def _show(text: str) -> str:
    return visible(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def _case(one: Judged) -> Case:
    verdict, example = one.verdict, one.example
    name = "" if verdict.id is None else f" ({_show(str(verdict.id))})"
    sure = verdict.raw_score if verdict.probability is None else verdict.probability
    what = "raw score" if verdict.probability is None else "P(hallucinated)"
    title = f"Row {one.number}{name}" + ("" if sure is None else f", {what} {sure:.2f}")
    spans = [(span.start, span.end) for span in verdict.spans]
    answer = [(_show(span.text), True) for span in verdict.spans]
    if example is not None:
        answer = [(_show(part), marked) for part, marked in visible_parts(example.answer, spans)]
    return Case(
        title,
        _show(example.question) if example else "",
        answer,
        ", ".join(kinds_of(verdict)),
        list(_evidence(one)),
        [_show(reason) for reason in verdict.reasoning],
    )


def _evidence(one: Judged) -> Iterator[tuple[str, str]]:
    """Yield what the documents say beside each unsupported sentence, named or else closest."""
    if one.example is None:
        return
    context = one.example.context
    seen: set[Evidence] = set()
    for sentence in one.verdict.sentences:
        if sentence.label != "UNSUPPORTED":
            continue
        found = sentence.evidence or filter(None, [closest_evidence(one.example, sentence)])
        for each in found:
            if each in seen or each.document >= len(context):
                continue
            seen.add(each)
            what = "Evidence" if each in sentence.evidence else "Closest passage"
            what = "Against it" if each.relation == "conflict" else what
            text = context[each.document][each.start : each.end]
            yield f"{what}, document {each.document + 1}", _show(text)


def figures(share: Share) -> str:
    """Return a share with its interval, in percent."""
    if share.interval is None:
        return UNDEFINED
    value, low, high = (100 * each for each in share.interval)
    return f"{value:.0f} % ({low:.0f} – {high:.0f})"


def numbers(rows: Sequence[Judged]) -> str:
    """Return the numbers of the first rows."""
    listed = ", ".join(str(one.number) for one in rows[:_LISTED])
    return listed + (", …" if len(rows) > _LISTED else "")


def _code(text: str) -> str:
    """Return judged text as a code span, in which Markdown means nothing."""
    plain = " ".join(text.replace("`", "'").split())
    return f"`{plain}`" if plain else UNDEFINED


def _markdown(faults: Faults, cases: Sequence[Case], source: str) -> Iterator[str]:
    total = faults.total
    yield f"# What goes wrong in {_code(source)}\n"
    yield f"{total.failed} of {total.scored} scored answers FAIL: {figures(total)}. "
    graded = "" if faults.faithfulness is None else f" Mean faithfulness {faults.faithfulness:.2f}."
    yield f"{total.unscored} rows have no score.{graded}\n"
    header = ("", "FAIL", "scored", "unscored", "share of FAIL (95 %)")
    groups = {"Questions": faults.questions, "Documents": faults.documents, "Drift": faults.periods}
    for title, shares in groups.items():
        cells = [(_code(s.name), s.failed, s.scored, s.unscored, figures(s)) for s in shares]
        yield f"## {title}\n\n{table(header, cells)}\n"
    yield f"## Kinds of error\n\n{table(('kind', 'rows'), faults.kinds)}\n"
    lost = [
        (code, len(rows), numbers(rows), _code(_show(rows[0].verdict.error.message)))
        for code, rows in faults.unscored.items()
        if rows[0].verdict.error
    ]
    yield f"## Unscored\n\n{table(('code', 'rows', 'which', 'message of the first'), lost)}\n"
    yield "## The worst\n"
    for case in cases:
        parts = [
            f"**{_code(text)}**" if bad else _code(text)
            for text, bad in case.answer
            if text.strip()
        ]
        yield f"### {_code(case.title)}\n"
        yield f"- Question: {_code(case.question)}"
        yield f"- Answer, what is unsupported in bold: {' '.join(parts)}"
        yield f"- What: {case.kinds}"
        yield from (f"- {what}: {_code(text)}" for what, text in case.evidence)
        yield from (f"- Reason: {_code(reason)}" for reason in case.reasons)
        yield ""
