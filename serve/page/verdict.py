"""A verdict as HTML: the score, the marked answer, its documents, the reasons, who said so.

A sentence of the answer carries its number in `data-sentence`, a piece of evidence the numbers of
its sentences in `data-of`; `page.js` brings the two together.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from moonlynx.judge.contract.types import Example, Sentence, Verdict
from moonlynx.judge.contract.wording import KINDS, STATUSES

_MEANING = {
    "PASS": "the documents support the answer",
    "FAIL": "the documents do not support all of the answer",
    None: "no verdict",
}
_LABELS = {"SUPPORTED": "supported", "UNSUPPORTED": "unsupported", "NO_INFO": "claims nothing"}
# Gradio reads what it shows as a template, so its signs must not come through either.
_TEMPLATE_SIGNS = str.maketrans({"$": "&#36;", "{": "&#123;", "}": "&#125;", "`": "&#96;"})


def render_error(message: str) -> str:
    """Return a message that something went wrong, which screen readers read out at once."""
    return f'<p class="mx-error" role="alert">{escape(message)}</p>'


def render_verdict(verdict: Verdict, example: Example, milliseconds: float) -> str:
    """Return a verdict on an example; `milliseconds` is the time from question to answer."""
    return template("verdict.html").render(
        verdict=verdict,
        meaning=_MEANING[verdict.score],
        answer=example.answer,
        sentences=list(_sentences(verdict, example.answer)),
        documents=[list(_pieces(verdict, *one)) for one in enumerate(example.context)],
        statuses=STATUSES,
        milliseconds=milliseconds,
    )


@cache
def template(name: str) -> Template:
    """Load a template of this folder; what it is given is escaped as by `escape`."""
    environment = Environment(
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else Markup(escape(str(value))),  # noqa: S704
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return environment.from_string(text)


def _sentences(verdict: Verdict, answer: str) -> Iterator[dict[str, Any]]:
    """Yield the answer's sentences and what is between them, each in parts, marked or not."""
    count = len(verdict.sentences)
    ranges = [(one.start, one.end) for one in (*verdict.sentences, *verdict.spans)]

    def sentence_of(piece: Piece) -> int | None:
        return next((number for number in piece.ranges if number < count), None)

    for number, pieces in groupby(cut(answer, ranges), key=sentence_of):
        parts = [(piece.text, any(one >= count for one in piece.ranges)) for piece in pieces]
        sentence = None if number is None else verdict.sentences[number]
        finding = sentence and _finding(sentence)
        yield {"number": number, "sentence": sentence, "finding": finding, "parts": parts}


def _finding(sentence: Sentence) -> str:
    probability = sentence.probability
    sure = "" if probability is None else f", P(unsupported) {probability:.2f}"
    places = sorted({(one.document, one.relation) for one in sentence.evidence})
    named = [
        f"{'evidence' if relation == 'support' else 'a conflict'} in document {document + 1}"
        for document, relation in places
    ]
    said = KINDS[sentence.kind] if sentence.kind else _LABELS[sentence.label]
    return f"{said}{sure}; {', '.join(named) or 'no evidence named'}"


def _pieces(verdict: Verdict, document: int, text: str) -> Iterator[tuple[str, list[int], bool]]:
    """Yield a document's pieces: its text, whose evidence it is, and whether it is against one."""
    found = [
        (number, one)
        for number, sentence in enumerate(verdict.sentences)
        for one in sentence.evidence
        if one.document == document
    ]
    for piece in cut(text, [(one.start, one.end) for _, one in found]):
        of = sorted({found[i][0] for i in piece.ranges})
        yield piece.text, of, any(found[i][1].relation == "conflict" for i in piece.ranges)


class Piece(NamedTuple):
    """A stretch of text that no range begins or ends in, and the indices of those around it."""

    text: str
    ranges: tuple[int, ...]


def escape(text: str) -> str:
    """Escape a text for use between tags, and in an attribute between quotes."""
    return html.escape(text).translate(_TEMPLATE_SIGNS)


def cut(text: str, ranges: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    """Cut a text at the ends of ranges, which may overlap; the pieces put together are the text."""
    ends = {min(end, len(text)) for one in ranges for end in one}
    for start, end in pairwise(sorted({0, len(text)} | ends)):
        around = (i for i, one in enumerate(ranges) if one[0] <= start and end <= one[1])
        yield Piece(text[start:end], tuple(around))
