"""Correct a stream of rows into a JSONL file of rows, resumable as that of verdicts is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..backends.base import ChatBackend
from ..contract.base import Judge
from ..contract.correction import CorrectedRow
from ..contract.types import Example, JudgeError
from ..correction.corrector import correct_all
from ..files.journal import resume
from ..rows.examples import Row
from .judging import BATCH_SIZE, Tally, batches, id_of, identify, to_line


@dataclass
class Corrected(Tally):
    """Counts of the verdicts before, and of what became of the answers."""

    outcomes: Counter[str] = field(default_factory=Counter)

    def take(self, row: CorrectedRow) -> None:
        """Count one row."""
        if row.correction is not None:
            self.add(row.correction.before)
            self.outcomes[row.correction.outcome.replace("_", " ")] += 1
        elif row.error is not None:
            self.rows += 1
            self.unscored[row.error.code] += 1

    def __str__(self) -> str:
        """Return the counts in one line."""
        outcomes = (f"{n} {outcome}" for outcome, n in self.outcomes.most_common())
        return f"{super().__str__()}; answers: {', '.join(outcomes)}"


def correct_rows(
    judge: Judge,
    rows: Iterable[Row],
    output: Path,
    *,
    run: Mapping[str, str],
    model: ChatBackend | None = None,
    marking: bool = False,
    on_progress: Callable[[Tally], None] = lambda _: None,
) -> Corrected:
    """Write one corrected row per row to `output`, resuming where an earlier run stopped.

    Raises:
        InUse: another process is writing `output`.
        RunMismatch: `output` holds the rows of another run.
        BackendError: the chat model cannot be reached; what is done is in `output`.
    """
    rows, tally = iter(rows), Corrected()
    with resume(output, {**identify(judge), **run}) as journal:
        for done in journal.pass_over(CorrectedRow, rows, id_of):
            tally.take(done)
        on_progress(tally)
        for batch in batches(rows, BATCH_SIZE):
            for corrected in _correct_batch(judge, batch, model, marking):
                journal.append([to_line(corrected)])
                tally.take(corrected)
                on_progress(tally)
    return tally


def _correct_batch(
    judge: Judge, rows: Sequence[Row], model: ChatBackend | None, marking: bool
) -> Iterator[CorrectedRow]:
    """Yield the rows, corrected; what cannot be read has its error."""
    examples = [row.example for row in rows if isinstance(row.example, Example)]
    corrections = correct_all(judge, examples, model, marking=marking)
    for row in rows:
        if isinstance(row.example, Example):
            given = row.example.model_dump(include={"id", "question", "context", "conversation"})
            made = next(corrections)
            yield CorrectedRow(**given, answer=made.answer, correction=made)
        else:
            error = JudgeError(code=row.example.code, message=str(row.example))
            yield CorrectedRow(id=row.id, error=error)
