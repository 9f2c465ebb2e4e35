"""The pages that rows are labelled on: rendered here, a form each, sent back to be saved.

What the row itself says (its own label, the change, the reasoning) is on a second form, shown
once the annotator's own labels are saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from moonlynx.judge.contract.types import MoonlynxError
from moonlynx.judge.text import split_sentences

from ..records import Edited, QARow
from .forms import NOTE_LIMIT, Form, read_checks, read_labels, read_name
from .records import Annotation, checks_of
from .store import AlreadyLabelled, Store, StoreError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.templating import Jinja2Templates


class Pages:
    """What is answered to each request."""

    def __init__(self, rows: Sequence[QARow], store: Store, templates: Jinja2Templates) -> None:
        self._rows = rows
        self._store = store
        self._templates = templates

    def start(self, request: Request) -> Response:
        """Ask for the annotator's name."""
        return self._render(request, "start.html", annotators=self._store.annotators())

    def enter(self, request: Request, form: Form) -> Response:
        """Redirect an annotator to where they stopped."""
        return _redirect(request, "resume", annotator=read_name(str(form.get("name", ""))))

    def resume(self, request: Request) -> Response:
        """Redirect to the first row that is not done, or to the page that says all are."""
        annotator = read_name(request.path_params["annotator"])
        number = self._next_open(annotator, after=0)
        if number is None:
            return self._render(request, "done.html", annotator=annotator)
        return _redirect(request, "row", annotator=annotator, number=number)

    def row(self, request: Request) -> Response:
        """Show a row, with the form that is to be filled in next."""
        annotator, number, row = self._find(request)
        annotation = self._store.find(annotator, number)
        checking = annotation is not None and bool(checks_of(row))
        return self._render(
            request,
            "check.html" if checking else "label.html",
            annotator=annotator,
            number=number,
            done=len(self._store.done(annotator)),
            row=row,
            annotation=annotation,
            note_limit=NOTE_LIMIT,
            **(_to_check(row) if checking else _to_label(row, annotation)),
        )

    def save_labels(self, request: Request, form: Form) -> Response:
        """Save an annotator's own labels; the row is done where nothing is to be checked."""
        annotator, number, row = self._find(request)
        done = not checks_of(row)
        self._store.save(number, read_labels(form, row, annotator), done=done, replace=done)
        after = number if done else number - 1
        return self._go_on(request, annotator, after)

    def save_checks(self, request: Request, form: Form) -> Response:
        """Save what an annotator says of the change and the reasoning; the row is done."""
        annotator, number, row = self._find(request)
        labelled = self._store.find(annotator, number)
        if labelled is None:
            return _redirect(request, "row", annotator=annotator, number=number)
        self._store.save(number, read_checks(form, row, labelled), done=True, replace=True)
        return self._go_on(request, annotator, number)

    def refuse(self, request: Request, error: Exception) -> Response:
        """Show what was wrong with a request, and that nothing was saved."""
        if isinstance(error, AlreadyLabelled):
            status = 409
        elif isinstance(error, StoreError):
            status = 500
        else:
            status = 400 if isinstance(error, MoonlynxError) else 404
        message = "There is no such page." if status == 404 else str(error)
        return self._render(request, "error.html", status, message=message)

    def _find(self, request: Request) -> tuple[str, int, QARow]:
        from starlette.exceptions import HTTPException

        number = request.path_params["number"]
        if not 1 <= number <= len(self._rows):
            raise HTTPException(404)
        return read_name(request.path_params["annotator"]), number, self._rows[number - 1]

    def _next_open(self, annotator: str, after: int) -> int | None:
        """Return the first row that is not done after a row, else from the beginning."""
        done = self._store.done(annotator)
        numbers = range(1, len(self._rows) + 1)
        ahead = (*numbers[after:], *numbers[:after])
        return next((number for number in ahead if number not in done), None)

    def _go_on(self, request: Request, annotator: str, after: int) -> Response:
        number = self._next_open(annotator, after)
        if number is None:
            return _redirect(request, "resume", annotator=annotator)
        return _redirect(request, "row", annotator=annotator, number=number)

    def _render(self, request: Request, page: str, status: int = 200, **values: Any) -> Response:
        values["total"] = len(self._rows)
        return self._templates.TemplateResponse(request, page, values, status)


class Part(NamedTuple):
    """A run of a text, as it is or as an edit made it.

    Attributes:
        text: the text that is there now.
        edit: what put it there; None where nothing was changed.
    """

    text: str
    edit: Edited | None


def cut_at_edits(text: str, edits: Sequence[Edited], document: int | None = None) -> list[Part]:
    """Cut a text into parts that join to it; of edits that overlap the first counts.

    Args:
        text: the answer, or a document of the context.
        edits: of the whole row.
        document: number of the document from 0; None for the answer.
    """
    parts: list[Part] = []
    position = 0
    own = (edit for edit in edits if edit.document == document)
    for edit in sorted(own, key=lambda edit: (edit.start, edit.end)):
        if position <= edit.start <= edit.end <= len(text):
            parts.append(Part(text[position : edit.start], None))
            parts.append(Part(text[edit.start : edit.end], edit))
            position = edit.end
    parts.append(Part(text[position:], None))
    return parts


def _to_label(row: QARow, annotation: Annotation | None) -> dict[str, Any]:
    """Return what the first form shows: nothing that tells how the row came about."""
    given = {} if annotation is None else {(s.start, s.end): s.label for s in annotation.sentences}
    return {
        "documents": [cut_at_edits(text, ()) for text in row.context],
        "sentences": [
            (piece.text, given.get((piece.start, piece.end)))
            for piece in split_sentences(row.answer)
        ],
    }


def _to_check(row: QARow) -> dict[str, Any]:
    """Return what the second form shows: what was changed, and where."""
    return {
        "documents": [
            cut_at_edits(text, row.edits, document) for document, text in enumerate(row.context)
        ],
        "answer": cut_at_edits(row.answer, row.edits),
        "checks": checks_of(row),
    }


def _redirect(request: Request, name: str, **where: Any) -> Response:
    from starlette.responses import RedirectResponse

    return RedirectResponse(request.url_for(name, **where), status_code=303)
