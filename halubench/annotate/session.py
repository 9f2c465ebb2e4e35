"""Ask an annotator for labels on a terminal, into a file from which a stopped session resumes.

The row's own label, its change and its reasoning are shown once the annotator's labels are in the
file: they are written again, with what is said of the change, and the last record of a row counts.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar, get_args

from rich.prompt import Prompt
from rich.table import Table
from rich.text import Text

from moonlynx.judge.contract.types import BadInput, Score, SentenceLabel
from moonlynx.judge.contract.visible import visible, visible_parts
from moonlynx.judge.files.journal import Journal, read_records, resume, to_line
from moonlynx.judge.files.stored import sha256_file
from moonlynx.judge.terminal.messages import Terminal
from moonlynx.judge.text import split_sentences

from ..records import Edited, QARow, read_rows
from .records import Annotation, Check, LabelledSentence, checks_of

_Choice = TypeVar("_Choice", bound=str)
_ASKED: dict[Check, str] = {
    "perturbation_holds": "Does the change make the answer unsupported?",
    "reasoning_right": "Is the reasoning right?",
}


def label_rows(file: Path, annotator: str, output: Path) -> None:
    """Ask for the labels of each row that is not done yet.

    Raises:
        BadInput: the file holds a line that is no row, no rows, or one that cannot be labelled.
        RunMismatch: `output` belongs to another file or annotator.
        InUse: another process is writing `output`.
    """
    rows, terminal = read_rows_to_label(file), Terminal()
    run = {"input_sha256": sha256_file(file), "annotator": annotator}
    with resume(output, run) as journal:
        found = {one.id: one for one in journal.read(Annotation)}
        for number, row in enumerate(rows, start=1):
            if (one := found.get(row.id)) is None or _unchecked(one, row):
                terminal.rule(f"row {number} of {len(rows)}")
                _label(row, one, annotator, journal, terminal)


def read_rows_to_label(file: Path) -> list[QARow]:
    """Read rows that can be labelled.

    Raises:
        BadInput: a line is no row, there are none, two share an id, or an answer holds no text.
    """
    rows = read_rows(file)
    if not rows:
        raise BadInput("bad_input", str(file), "holds no rows")
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            raise BadInput("bad_input", f"{file}, id", f"two rows are called {row.id!r}")
        if not row.answer.strip():
            raise BadInput("empty_answer", f"{file}, {row.id}, answer", "holds no text to label")
        seen.add(row.id)
    return rows


def read_annotations(files: Iterable[Path]) -> list[Annotation]:
    """Read what annotators said, a file each; of a row and annotator the last record counts.

    Raises:
        BadInput: a line is no annotation.
    """
    said = (one for file in files for one in read_records(file, Annotation))
    return list({(one.id, one.annotator): one for one in said}.values())


def _unchecked(one: Annotation, row: QARow) -> Sequence[Check]:
    return [check for check in checks_of(row) if getattr(one, check) is None]


def _label(
    row: QARow, one: Annotation | None, annotator: str, journal: Journal, terminal: Terminal
) -> None:
    if one is None:
        terminal.print(_shown(row, ()))
        sentences = tuple(
            LabelledSentence(
                start=piece.start,
                end=piece.end,
                label=_choose(f"“{piece.text}”", get_args(SentenceLabel), terminal),
            )
            for piece in split_sentences(row.answer)
        )
        one = Annotation(
            id=row.id,
            source=row.source,
            row_label=row.label,
            annotator=annotator,
            label=_choose("The answer", get_args(Score), terminal),
            sentences=sentences,
            note=Prompt.ask("Note", console=terminal, default="", show_default=False),
        )
        journal.append([to_line(one)])
    if checks := _unchecked(one, row):
        terminal.print(_shown(row, row.edits, row.change, row.reasoning))
        said: dict[str, bool] = {
            check: _choose(_ASKED[check], ("yes", "no"), terminal) == "yes" for check in checks
        }
        journal.append([to_line(one.model_copy(update=said))])


def _choose(question: str, choices: Sequence[_Choice], terminal: Terminal) -> _Choice:
    """Ask for one of the choices, by its first letter."""
    letters = {choice[0].lower(): choice for choice in choices}
    text = Text(visible(question, lines=False) + "  " + ", ".join(choices))
    return letters[Prompt.ask(text, choices=list(letters), console=terminal, case_sensitive=False)]


def _shown(
    row: QARow, edits: Sequence[Edited], change: str | None = None, reasoning: Sequence[str] = ()
) -> Table:
    """Return the row as a table, so that no text begins where a question does."""
    lines = Table.grid(padding=(0, 2, 0, 0))
    lines.add_column(style="bold", no_wrap=True)
    lines.add_column(overflow="fold")
    lines.add_row("Question", row.question)
    for number, document in enumerate(row.context):
        lines.add_row(f"Document {number + 1}", _marked(document, edits, number))
    lines.add_row("Answer", _marked(row.answer, edits, None))
    if change:
        lines.add_row("Change", change)
    for edit in edits:
        lines.add_row("Was", edit.old)
    for reason in reasoning:
        lines.add_row("Reason", reason)
    return lines


def _marked(text: str, edits: Sequence[Edited], document: int | None) -> Text:
    shown = Text()
    own = [(edit.start, edit.end) for edit in edits if edit.document == document]
    for part, marked in visible_parts(text, own):
        shown.append(part, "bold underline" if marked else None)
    return shown
