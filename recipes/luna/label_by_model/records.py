"""What the labelling writes: answers with labels, and answers that were dropped."""

from __future__ import annotations

from typing import Literal

from moonlynx.judge.contract.types import (
    Count,
    Evidence,
    Example,
    Id,
    JudgeError,
    Range,
    Record,
    Text,
    Usage,
)

SentenceVerdict = Literal["supported", "general", "partial", "unsupported"]


class Support(Range):
    """What the annotator found for one sentence of the answer, `answer[start:end]`.

    A "general" sentence (section 4.2) counts as supported in every window of the context, a
    "supported" one in the windows that hold its evidence, the others in none.
    """

    verdict: SentenceVerdict
    evidence: tuple[Evidence, ...]

    @property
    def is_supported(self) -> bool:
        """Return whether the whole sentence is supported; partly is not enough (section 4.2)."""
        return self.verdict in ("supported", "general")


class RunInfo(Record):
    """What identifies a run: its questions by hash, its models and its prompts."""

    input_sha256: Text
    generators: tuple[Text, ...]
    annotator: Text
    prompts: tuple[Text, ...]


class Provenance(Record):
    """Where an answer and its label come from, and what they cost."""

    run: RunInfo  # the run that made it
    line: Count  # of its question in the input, from 1
    generator: Count  # which of the run's generators answered, from 0
    generation: Usage  # what the answer cost
    annotation: Usage  # what its label cost; every call after the first is a re-annotation


class AnnotatedAnswer(Example):
    """An answer with its label; `spans` are its unsupported sentences, whole."""

    support: tuple[Support, ...]
    provenance: Provenance


class DroppedAnswer(Record):
    """An answer that could not be obtained, or whose label could not be trusted."""

    id: Id
    source: Text | None = None
    error: JudgeError
    provenance: Provenance
