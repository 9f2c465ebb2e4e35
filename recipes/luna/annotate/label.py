"""Answers questions and labels the answers, many at once.

The annotator judges the answer as a whole and sentence by sentence. Where the two disagree, or a
reply cannot be read, it is asked again up to three times; an answer on which it never agrees with
itself is dropped (section 4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from moonlynx.judge.backends.base import ChatBackend, ChatReply
from moonlynx.judge.backends.replies import fault_of, usage_of
from moonlynx.judge.contract.types import BadInput, Example, JudgeError, Span

from ...data.rag_qa import RagQuestion
from .asking import (
    Annotation,
    Keyed,
    annotation_request,
    generation_request,
    key_sentences,
    read_annotation,
)
from .records import AnnotatedAnswer, DroppedAnswer, Provenance, RunInfo

REANNOTATIONS = 3
_MAY_PASS = ("unparsed", "truncated", "contradictory")


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


@dataclass
class _Draft:
    """An answer on its way to a label: `result` says how far it is, None that it has none yet."""

    task: Task
    generated: ChatReply
    keyed: Keyed | None = None
    annotated: list[ChatReply] = field(default_factory=list)
    result: Annotation | JudgeError | None = None


def label_answers(
    tasks: Sequence[Task], models: Models, run: RunInfo
) -> list[AnnotatedAnswer | DroppedAnswer]:
    """Answer each task's question, and label the answer."""
    drafts = _generate(tasks, models)
    for attempt in range(1 + REANNOTATIONS):
        _annotate([draft for draft in drafts if _is_open(draft)], models, attempt)
    return [_record(draft, run) for draft in drafts]


def disagreement(annotation: Annotation) -> str | None:
    """Return how the annotation contradicts itself, if it does."""
    for sentence in annotation.sentences:
        if sentence.verdict == "supported" and not sentence.evidence:
            return f"the sentence at {sentence.start} is called supported, but by no sentence"
    if annotation.supported == all(sentence.is_supported for sentence in annotation.sentences):
        return None
    said = "supported" if annotation.supported else "unsupported"
    return f"the answer as a whole is called {said}, its sentences say otherwise"


def _generate(tasks: Sequence[Task], models: Models) -> list[_Draft]:
    replies: dict[int, ChatReply] = {}
    for place, backend in enumerate(models.generators):
        mine = [index for index, task in enumerate(tasks) if task.generator == place]
        requests = [
            # The line seeds the answer, so that a repeated run gets the same where it can.
            generation_request(tasks[index].question, models.limits.answer, tasks[index].line)
            for index in mine
        ]
        replies |= zip(mine, backend.complete(requests), strict=True)
    return [_draft(task, replies[index]) for index, task in enumerate(tasks)]


def _draft(task: Task, reply: ChatReply) -> _Draft:
    draft = _Draft(task, reply, result=fault_of(reply))
    if draft.result is None:
        fields = task.question.model_dump() | {"id": task.id, "answer": reply.text}
        try:
            draft.keyed = key_sentences(Example.from_row(fields))
        except BadInput as error:
            draft.result = JudgeError(code=error.code, message=str(error))
    return draft


def _is_open(draft: _Draft) -> bool:
    """Return whether there is an answer to label, and no label yet or a transient error."""
    if draft.keyed is None:
        return False
    return draft.result is None or (
        isinstance(draft.result, JudgeError) and draft.result.code in _MAY_PASS
    )


def _annotate(drafts: Sequence[_Draft], models: Models, attempt: int) -> None:
    keyed = [draft.keyed for draft in drafts if draft.keyed is not None]
    requests = [annotation_request(one, models.limits.annotation, attempt) for one in keyed]
    replies = models.annotator.complete(requests)
    for draft, one, reply in zip(drafts, keyed, replies, strict=True):
        draft.annotated.append(reply)
        draft.result = fault_of(reply) or _checked(
            read_annotation(reply.text, one), is_last=attempt == REANNOTATIONS
        )


def _checked(annotation: Annotation | JudgeError, is_last: bool) -> Annotation | JudgeError:
    if isinstance(annotation, JudgeError):
        return annotation
    conflict = disagreement(annotation)
    if conflict is None or (is_last and _only_partial(annotation)):
        return annotation
    return JudgeError(code="contradictory", message=conflict)


def _only_partial(annotation: Annotation) -> bool:
    """Return whether the disagreement is all about partly supported sentences.

    Most that remain are (section 4.2): they are settled as unsupported, and the answer with them.
    """
    return annotation.supported and all(
        sentence.evidence if sentence.verdict == "supported" else sentence.verdict != "unsupported"
        for sentence in annotation.sentences
    )


def _record(draft: _Draft, run: RunInfo) -> AnnotatedAnswer | DroppedAnswer:
    task = draft.task
    provenance = Provenance(
        run=run,
        line=task.line,
        generator=task.generator,
        generation=usage_of([draft.generated]),
        annotation=usage_of(draft.annotated),
    )
    if draft.keyed is None or not isinstance(draft.result, Annotation):
        assert isinstance(draft.result, JudgeError)
        return DroppedAnswer(
            id=task.id, source=task.question.source, error=draft.result, provenance=provenance
        )
    example, support = draft.keyed.example, draft.result.sentences
    spans = tuple(
        Span(start=one.start, end=one.end, text=example.answer[one.start : one.end])
        for one in support
        if not one.is_supported
    )
    label = "FAIL" if spans else "PASS"
    known = dict(example) | {"label": label, "spans": spans}
    return AnnotatedAnswer(**known, support=support, provenance=provenance)
