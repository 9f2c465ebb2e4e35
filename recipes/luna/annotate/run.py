"""Labels a set of questions into a file that survives being killed.

`OUTPUT` holds the labelled answers, `OUTPUT.dropped.jsonl` the others and why. Each line names its
run, its question and its generator, so a run started again skips what is done and resumes:
the files end the same as those of an undisturbed run. With the second one deleted, what was dropped
is tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from moonlynx.judge.batch.judging import Tally as Labels
from moonlynx.judge.files.journal import check_run

from ...data.rag_qa import RagQuestion
from ...outcomes import read_outcomes, resume_outcomes
from .cost import Bill
from .label import Models, Task, label_answers
from .records import AnnotatedAnswer, DroppedAnswer, RunInfo

Labelled = AnnotatedAnswer | DroppedAnswer


@dataclass
class Tally:
    """What has been written so far.

    Attributes:
        labels: answers by label; dropped ones by the stage and the error that dropped them.
        bill: what they cost.
        reannotations: annotations after an answer's first.
        done: line and generator of every answer.
    """

    labels: Labels = field(default_factory=Labels)
    bill: Bill = field(default_factory=Bill)
    reannotations: int = 0
    done: set[tuple[int, int]] = field(default_factory=set)

    def add(self, answer: Labelled) -> None:
        """Count one answer."""
        origin = answer.provenance
        self.bill.add(origin.generator, origin.generation, origin.annotation)
        self.reannotations += max(0, origin.annotation.calls - 1)
        self.done.add((origin.line, origin.generator))
        self.labels.rows += 1
        if isinstance(answer, DroppedAnswer):
            stage = "annotation" if origin.annotation.calls else "generation"
            self.labels.unscored[f"{stage}: {answer.error.code}"] += 1
        else:
            self.labels.passed += answer.label == "PASS"
            self.labels.failed += answer.label == "FAIL"


def read_done(output: Path) -> Tally:
    """Count what an earlier run has written, whichever it was.

    Raises:
        RunMismatch: a line was not written by this command.
    """
    tally = Tally()
    for answer in read_outcomes(output, AnnotatedAnswer, DroppedAnswer):
        tally.add(answer)
    return tally


def find_tasks(questions: Sequence[RagQuestion], generators: int, done: Tally) -> list[Task]:
    """Return the answers that are not done yet: of every question, one by each generator."""
    return [
        Task(line, place, question)
        for line, question in enumerate(questions, start=1)
        for place in range(generators)
        if (line, place) not in done.done
    ]


def annotate(
    questions: Sequence[RagQuestion],
    models: Models,
    run: RunInfo,
    output: Path,
    on_progress: Callable[[Labels], None] = lambda _: None,
) -> Tally:
    """Label the answers that are not done yet, and write them in the order of the questions.

    Args:
        questions: all of the run's, from the first.
        models: answer and label.
        run: what identifies the run.
        output: JSONL file of AnnotatedAnswers; DroppedAnswers go to the file beside it.
        on_progress: called with the counts so far after every batch.

    Raises:
        InUse: another process is writing the files.
        RunMismatch: the files hold answers of another run.
    """
    tally = Tally()

    def count(answers: Sequence[Labelled]) -> None:
        for answer in answers:
            tally.add(answer)
        on_progress(tally.labels)

    with resume_outcomes(output, AnnotatedAnswer, DroppedAnswer) as outcomes:
        for answer in outcomes.read():
            check_run(output, dict(answer.provenance.run), dict(run))
            tally.add(answer)
        on_progress(tally.labels)
        tasks = find_tasks(questions, len(models.generators), tally)
        outcomes.write(tasks, partial(label_answers, models=models, run=run), count)
    return tally
