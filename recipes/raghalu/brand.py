"""A brand's own labelled sentences, one to a line of a JSONL file."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

from pydantic import model_validator

from moonlynx.judge.contract.types import (
    Documents,
    Example,
    MoonlynxError,
    Record,
    SentenceLabel,
    Text,
    Turn,
    wrong,
)
from moonlynx.judge.files.journal import read_records
from moonlynx.judge.judges.raghalu.judge import conversation_form
from moonlynx.judge.judges.raghalu.tier_one import as_pair

LEAST = 20  # sentences of SUPPORTED and of UNSUPPORTED


class BrandError(MoonlynxError, ValueError):
    """Sentences that cannot be learned from."""


class BrandSentence(Record):
    """One sentence as it is in an answer, with the label that a person gave it.

    `context` holds the documents that the answer was given, `conversation` the turns before the
    question.
    """

    sentence: Text
    label: SentenceLabel
    context: Documents
    question: Text = ""
    conversation: tuple[Turn, ...] = ()

    @model_validator(mode="after")
    def _judgeable(self) -> Self:
        if not (self.sentence.strip() and any(map(str.strip, self.context))):
            raise wrong("sentence and context must hold text")
        return self

    def example(self) -> Example:
        """Return the sentence as an answer."""
        return Example(
            context=self.context,
            answer=self.sentence,
            question=self.question,
            conversation=self.conversation,
        )


def rows_of(sentences: Iterable[BrandSentence], tier: int) -> Iterator[Example]:
    """Yield labelled rows for a stage of `moonlynx train luna`, as the judge's tier reads them.

    Of tier 1, FAIL is NO_INFO; tier 2 reads no such sentence.
    """
    for one in sentences:
        example = as_pair(one.sentence) if tier == 1 else one.example()
        if tier == 2 and one.label == "NO_INFO":
            continue
        wrong = one.label == ("NO_INFO" if tier == 1 else "UNSUPPORTED")
        said = example.answer
        row = {
            "question": conversation_form(example),
            "label": "FAIL" if wrong else "PASS",
            "source": one.label,
            "spans": [{"start": 0, "end": len(said), "text": said}] if wrong else [],
        }
        yield Example.model_validate(example.model_dump(exclude={"conversation"}) | row)


def read_brand(path: Path) -> list[BrandSentence]:
    """Read a brand's sentences.

    Raises:
        BadInput: a line is no such sentence; names line and field.
        BrandError: there are too few of a label.
    """
    rows = read_records(path, BrandSentence)
    counts = Counter(row.label for row in rows)
    for label in ("SUPPORTED", "UNSUPPORTED"):
        if counts[label] < LEAST:
            raise BrandError(
                f"{path}: {counts[label]} sentences are {label}; label at least {LEAST}, better 100"
            )
    return rows
