"""A verdict as HTML: the score, the marked answer, its documents, the reasons, who said so.

A sentence of the answer carries its number in `data-sentence`, a piece of evidence the numbers of
its sentences in `data-of`; `page.js` brings the two together.
"""

from __future__ import annotations

from itertools import groupby

from moonlynx.judge.contract.types import Example, Sentence, Verdict
from moonlynx.judge.contract.wording import KINDS, STATUSES

from .markup import Piece, cut, escape

_MEANING = {
    "PASS": "the documents support the answer",
    "FAIL": "the documents do not support all of the answer",
    None: "no verdict",
}
_LABELS = {"SUPPORTED": "supported", "UNSUPPORTED": "unsupported", "NO_INFO": "claims nothing"}


def render_error(message: str) -> str:
    """Return a message that something went wrong, which screen readers read out at once."""
    return f'<p class="mx-error" role="alert">{escape(message)}</p>'


def render_verdict(verdict: Verdict, example: Example, milliseconds: float) -> str:
    """Return a verdict on an example; `milliseconds` is the time from question to answer."""
    judge = escape(f"{verdict.judge.name} {verdict.judge.version}")
    return (
        f'<article class="mx-result mx-{_tone(verdict)}" aria-label="Verdict of {judge}">'
        f"{_head(verdict)}"
        f"<h3>Answer</h3>{_answer(verdict, example.answer)}{_citations(verdict, example.answer)}"
        f"<h3>Documents</h3>{_documents(verdict, example.context)}"
        f"{_reasons(verdict)}"
        f'<footer>{judge}{_stages(verdict)} · <span class="mx-time">{milliseconds:.0f} ms</span>'
        "</footer></article>"
    )


def _tone(verdict: Verdict) -> str:
    return (verdict.score or "unscored").lower()


def _head(verdict: Verdict) -> str:
    score = verdict.score or "UNSCORED"
    why = f"{verdict.error.code}: {verdict.error.message}" if verdict.error else None
    meaning = why or _MEANING[verdict.score]
    return (
        f'<header role="status"><strong class="mx-score">{score}</strong> '
        f"<span>{escape(meaning)}</span></header>{_probability(verdict)}"
        f"{_faithfulness(verdict)}"
    )


def _faithfulness(verdict: Verdict) -> str:
    share = verdict.faithfulness
    return "" if share is None else f'<p class="mx-probability">{share:.0%} of claims supported</p>'


def _probability(verdict: Verdict) -> str:
    if verdict.probability is not None:
        percent = 100 * verdict.probability
        return (
            f'<p class="mx-probability">P(hallucinated) <b>{verdict.probability:.2f}</b> '
            f'<span class="mx-bar"><span style="width:{percent:.1f}%"></span></span></p>'
        )
    if verdict.raw_score is not None:
        said = f"raw score {verdict.raw_score:.2f}; the judge has no calibrated probability"
        return f'<p class="mx-probability">{said}</p>'
    return ""


def _answer(verdict: Verdict, answer: str) -> str:
    sentences = len(verdict.sentences)
    ranges = [(one.start, one.end) for one in (*verdict.sentences, *verdict.spans)]

    def sentence_of(piece: Piece) -> int | None:
        return next((number for number in piece.ranges if number < sentences), None)

    html = []
    for number, pieces in groupby(cut(answer, ranges), key=sentence_of):
        inner = "".join(
            f"<mark>{escape(piece.text)}</mark>"
            if any(one >= sentences for one in piece.ranges)
            else escape(piece.text)
            for piece in pieces
        )
        html.append(inner if number is None else _sentence(verdict, number, inner))
    said = "Choose a sentence to see its evidence."
    hint = f'<p class="mx-said" role="status">{said}</p>' if sentences else ""
    return f'<p class="mx-text" dir="auto">{"".join(html)}</p>{hint}'


def _sentence(verdict: Verdict, number: int, inner: str) -> str:
    sentence = verdict.sentences[number]
    said = escape(f"Sentence {number + 1}: {_finding(sentence)}")
    return (
        f'<span class="mx-sentence mx-{sentence.label.lower()}" tabindex="0" role="note" '
        f'data-sentence="{number}" data-said="{said}">{inner}</span>'
    )


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


def _citations(verdict: Verdict, answer: str) -> str:
    if not verdict.citations:
        return ""
    items = "".join(
        f"<li>{escape(answer[one.start : one.end])} {STATUSES[one.status]}</li>"
        for one in verdict.citations
    )
    return f"<h3>Citations</h3><ul>{items}</ul>"


def _documents(verdict: Verdict, documents: tuple[str, ...]) -> str:
    items = "".join(
        f'<li class="mx-text" dir="auto">{_document(verdict, number, text)}</li>'
        for number, text in enumerate(documents)
    )
    label = 'role="region" aria-label="Documents" tabindex="0"'
    return f'<div class="mx-documents" {label}><ol>{items}</ol></div>'


def _document(verdict: Verdict, document: int, text: str) -> str:
    found = [
        (number, one)
        for number, sentence in enumerate(verdict.sentences)
        for one in sentence.evidence
        if one.document == document
    ]
    html = []
    for piece in cut(text, [(one.start, one.end) for _, one in found]):
        if not piece.ranges:
            html.append(escape(piece.text))
            continue
        of = " ".join(str(number) for number in sorted({found[i][0] for i in piece.ranges}))
        against = any(found[i][1].relation == "conflict" for i in piece.ranges)
        kind = "mx-conflict" if against else "mx-support"
        html.append(f'<span class="mx-evidence {kind}" data-of="{of}">{escape(piece.text)}</span>')
    return "".join(html)


def _reasons(verdict: Verdict) -> str:
    if not verdict.reasoning:
        return ""
    items = "".join(f"<li>{escape(reason)}</li>" for reason in verdict.reasoning)
    return f"<h3>Reasons</h3><ul>{items}</ul>"


def _stages(verdict: Verdict) -> str:
    said = ", ".join(
        f"{stage.judge} {stage.warning or stage.score or 'unscored'}"
        f"{' (decided)' if stage.decided else ''}"
        for stage in verdict.stages
    )
    return f" · {escape(said)}" if said else ""
