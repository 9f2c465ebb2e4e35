"""Correct a stream of rows into a JSONL file of rows, resumable as that of verdicts is."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ..backends.base import ChatBackend
from ..contract.base import Judge
from ..contract.correction import CorrectedRow
from ..contract.types import Example, JudgeError, Verdict
from ..correction.corrector import correct, run
from ..files.journal import resume
from ..rows.examples import Row
from .judging import BATCH_SIZE, Tally, batches, id_of, identify, judge_batch, to_line

_GIVEN = {"id", "question", "context", "conversation"}


def correct_rows(
    judge: Judge,
    rows: Iterable[Row],
    output: Path,
    *,
    run: Mapping[str, str],
    model: ChatBackend | None = None,
    marking: bool = False,
    on_progress: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Write one corrected row per row to `output`, resuming where an earlier run stopped.

    Raises:
        InUse: another process is writing `output`.
        RunMismatch: `output` holds the rows of another run.
        BackendError: the chat model cannot be reached; what is done is in `output`.
    """
    rows, tally = iter(rows), Tally()
    with resume(output, {**identify(judge), **run}) as journal:
        for done in journal.pass_over(CorrectedRow, rows, id_of):
            _count(tally, done)
        on_progress(tally)
        for batch in batches(rows, BATCH_SIZE):
            for row, verdict in zip(batch, judge_batch(judge, batch), strict=True):
                corrected = _correct(judge, row, verdict, model, marking)
                journal.append([to_line(corrected)])
                _count(tally, corrected)
                on_progress(tally)
    return tally


def _correct(
    judge: Judge, row: Row, verdict: Verdict, model: ChatBackend | None, marking: bool
) -> CorrectedRow:
    if not isinstance(row.example, Example):
        error = JudgeError(code=row.example.code, message=str(row.example))
        return CorrectedRow(id=row.id, error=error)
    made = run(correct(row.example, verdict, model, marking=marking), judge)
    given = row.example.model_dump(include=_GIVEN)
    return CorrectedRow(**given, answer=made.answer, correction=made)


def _count(tally: Tally, row: CorrectedRow) -> None:
    if row.correction is not None:
        tally.add(row.correction.before)
        tally.outcomes[row.correction.outcome.replace("_", " ")] += 1
    elif row.error is not None:
        tally.rows += 1
        tally.unscored[row.error.code] += 1
