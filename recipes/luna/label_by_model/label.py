"""Answer questions and label the answers, into files from which a killed run resumes.

The annotator judges the answer as a whole and sentence by sentence. Where the two disagree, or a
reply cannot be read, it is asked again up to three times; an answer on which it never agrees with
itself is dropped (section 4.2). OUTPUT holds the labelled answers, OUTPUT.dropped.jsonl the others.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from typing_extensions import override

from moonlynx.judge.backends.base import ChatBackend
from moonlynx.judge.batch.chat_tasks import (
    Asked,
    Fault,
    Ledger,
    Lost,
    Tally,
    ask,
    outcome_files,
    run_tasks,
)
from moonlynx.judge.contract.types import BadInput, Example, Span, Usage
from moonlynx.judge.decision.cost import estimate_tokens
from moonlynx.judge.prompts import load_prompt

from ...data.rag_qa import RagQuestion
from .questions import (
    ANNOTATE,
    GENERATE,
    AnnotatedAnswer,
    Annotation,
    DroppedAnswer,
    Keyed,
    Provenance,
    RunInfo,
    annotation_request,
    generation_request,
    key_sentences,
    read_annotation,
)

REANNOTATIONS = 3
KEYED = 1.2  # text with a key before each sentence, against the bare text
ANSWER_TOKENS = 200  # of an answer on average (appendix B)
ANNOTATION_TOKENS = 3 * ANSWER_TOKENS  # its reasoning goes through the answer about twice
ANNOTATIONS = "annotations"

Labelled = AnnotatedAnswer | DroppedAnswer


@dataclass(frozen=True)
class Limits:
    """Tokens that an answer and an annotation may take."""

    answer: int = 512
    annotation: int = 2_048


@dataclass(frozen=True)
class Task:
    """A question, by its line from 1, and the generator that answers it, by its place from 0."""

    line: int
    generator: int
    question: RagQuestion

    @property
    def id(self) -> str:
        """Return the answer's id."""
        name = self.line if self.question.id is None else self.question.id
        return f"{name}/{self.generator}"


@dataclass(frozen=True)
class Models:
    """The chat models of a run."""

    generators: Sequence[ChatBackend]
    annotator: ChatBackend
    limits: Limits


class Done(Ledger[Labelled]):
    """The answers that are done, by line and generator."""

    def __init__(self, output: Path) -> None:
        super().__init__(outcome_files(output, AnnotatedAnswer, DroppedAnswer))

    @override
    def origin(self, record: Labelled) -> tuple[tuple[int, int], RunInfo]:
        origin = record.provenance
        return (origin.line, origin.generator), origin.run

    @override
    def count(self, record: Labelled) -> None:
        origin, tally = record.provenance, self.tally
        tally.spend(answers_of(origin.generator), origin.generation)
        tally.spend(ANNOTATIONS, origin.annotation)
        tally.retries += max(0, origin.annotation.calls - 1)
        if isinstance(record, DroppedAnswer):
            stage = "annotation" if origin.annotation.calls else "generation"
            tally.dropped[f"{stage}: {record.error.code}"] += 1
        else:
            tally.made[record.label or ""] += 1


def answers_of(generator: int) -> str:
    """Return what a generator is asked for, as it is named in a bill."""
    return f"answers of model {generator + 1}"


def find_tasks(questions: Sequence[RagQuestion], generators: int) -> dict[tuple[int, int], Task]:
    """Return the answers to make, by line and generator: of every question, one by each."""
    return {
        (line, place): Task(line, place, question)
        for line, question in enumerate(questions, start=1)
        for place in range(generators)
    }


def estimate(tasks: Iterable[Task], limits: Limits, *, most: bool) -> Mapping[str, Usage]:
    """Estimate what the tasks will take, from the length of their texts.

    `most`: every reply as long as it may be and every answer annotated as often as it may be,
    instead of answers as long as the paper's, annotated once.
    """
    answer = limits.answer if most else min(ANSWER_TOKENS, limits.answer)
    reply = limits.annotation if most else min(ANNOTATION_TOKENS, limits.annotation)
    times = 1 + REANNOTATIONS if most else 1
    generate, annotate = (estimate_tokens(load_prompt(name)) for name in (GENERATE, ANNOTATE))
    bill = Tally()
    for task in tasks:
        question = estimate_tokens(task.question.question)
        documents = sum(estimate_tokens(document) for document in task.question.context)
        asked = ceil(generate + question + documents)
        judged = ceil(annotate + question + KEYED * (documents + answer))
        bill.spend(
            answers_of(task.generator), Usage(calls=1, input_tokens=asked, output_tokens=answer)
        )
        bill.spend(
            ANNOTATIONS,
            Usage(calls=times, input_tokens=times * judged, output_tokens=times * reply),
        )
    return bill.usage


def label_questions(
    questions: Sequence[RagQuestion],
    models: Models,
    run: RunInfo,
    output: Path,
    on_progress: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Label the answers not done yet; write AnnotatedAnswers to `output`, in the questions' order.

    `questions` are all of the run's. `on_progress` gets the counts so far after every batch.

    Raises:
        BackendError: some got no reply; all others are in the files.
        InUse: another process is writing the files.
        RunMismatch: the files hold answers of another run.
    """
    done = Done(output)
    tasks = find_tasks(questions, len(models.generators))
    run_tasks(done, run, tasks, lambda batch: _label(batch, models, run), on_progress)
    return done.tally


def _label(tasks: Sequence[Task], models: Models, run: RunInfo) -> Iterator[Labelled | Lost]:
    """Answer each task's question, and label the answer."""
    answers = _generate(tasks, models)
    keyed = [answer.read for answer in answers if answer.read]
    labels = iter(
        ask(
            models.annotator,
            keyed,
            lambda one, attempt: annotation_request(one, models.limits.annotation, attempt),
            lambda one, attempt, text: _checked(
                read_annotation(text, one), is_last=attempt == REANNOTATIONS
            ),
            tries=1 + REANNOTATIONS,
        )
    )
    for task, answer in zip(tasks, answers, strict=True):
        label = next(labels) if answer.read else Asked[Annotation]()
        if answer.outage:
            yield Lost(models.generators[task.generator].name, task.id, answer.outage)
        elif label.outage:
            yield Lost(models.annotator.name, task.id, label.outage)
        else:
            yield _record(task, answer, label, run)


def _generate(tasks: Sequence[Task], models: Models) -> list[Asked[Keyed]]:
    answers: dict[tuple[int, int], Asked[Keyed]] = {}
    for place, backend in enumerate(models.generators):
        mine = [task for task in tasks if task.generator == place]
        # The line seeds the answer, so that a repeated run gets the same where it can.
        found = ask(
            backend,
            mine,
            lambda task, _: generation_request(task.question, models.limits.answer, task.line),
            lambda task, _, text: _keyed(task, text),
        )
        answers |= {(task.line, place): one for task, one in zip(mine, found, strict=True)}
    return [answers[task.line, task.generator] for task in tasks]


def _keyed(task: Task, answer: str) -> Keyed | Fault:
    fields = task.question.model_dump() | {"id": task.id, "answer": answer}
    try:
        return key_sentences(Example.from_row(fields))
    except BadInput as error:
        return Fault(reason=error.code, message=str(error))


def _checked(annotation: Annotation | Fault, *, is_last: bool) -> Annotation | Fault:
    """Return the annotation, or how it contradicts itself."""
    if isinstance(annotation, Fault):
        return annotation
    sentences = annotation.sentences
    for one in sentences:
        if one.verdict == "supported" and not one.evidence:
            message = f"the sentence at {one.start} is called supported, but by no sentence"
            return Fault(reason="contradictory", message=message)
    if annotation.supported == all(one.is_supported for one in sentences):
        return annotation
    # Most disagreements that remain are about partly supported sentences (section 4.2): these are
    # settled as unsupported, and the answer with them.
    if is_last and annotation.supported and all(one.verdict != "unsupported" for one in sentences):
        return annotation
    said = "supported" if annotation.supported else "unsupported"
    message = f"the answer as a whole is called {said}, its sentences say otherwise"
    return Fault(reason="contradictory", message=message)


def _record(task: Task, answer: Asked[Keyed], label: Asked[Annotation], run: RunInfo) -> Labelled:
    provenance = Provenance(
        run=run,
        line=task.line,
        generator=task.generator,
        generation=answer.usage,
        annotation=label.usage,
    )
    if answer.read is None or label.read is None:
        fault = (answer.faults + label.faults)[-1]
        return DroppedAnswer(
            id=task.id,
            source=task.question.source,
            error=fault.as_error(),
            provenance=provenance,
        )
    example, support = answer.read.example, label.read.sentences
    spans = tuple(
        Span(start=one.start, end=one.end, text=example.answer[one.start : one.end])
        for one in support
        if not one.is_supported
    )
    known = dict(example) | {"label": "FAIL" if spans else "PASS", "spans": spans}
    return AnnotatedAnswer(**known, support=support, provenance=provenance)
