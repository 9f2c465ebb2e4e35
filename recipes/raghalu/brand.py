"""A brand's own labelled sentences, one to a line of a JSONL file."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

from pydantic import StringConstraints, ValidationError

from moonlynx.judge.contract.types import (
    Documents,
    Example,
    MoonlynxError,
    Record,
    SentenceLabel,
    Text,
    Turn,
    first_fault,
)

LEAST = 20  # sentences of SUPPORTED and of UNSUPPORTED


class BrandError(MoonlynxError, ValueError):
    """Sentences that cannot be learned from; names line and field."""


class BrandSentence(Record):
    """One sentence as it is in an answer, with the label that a person gave it.

    `context` holds the documents that the answer was given, `conversation` the turns before the
    question.
    """

    sentence: Annotated[Text, StringConstraints(min_length=1)]
    label: SentenceLabel
    context: Documents
    question: Text = ""
    conversation: tuple[Turn, ...] = ()

    def example(self) -> Example:
        """Return the sentence as an answer."""
        return Example(
            context=self.context,
            answer=self.sentence,
            question=self.question,
            conversation=self.conversation,
        )


def read_brand(path: Path) -> list[BrandSentence]:
    """Read a brand's sentences.

    Raises:
        BrandError: a line is no such sentence, or there are too few of a label.
    """
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = BrandSentence.model_validate(json.loads(line))
            row.example()
        except ValidationError as error:
            field, message = first_fault(error, "row")
            raise BrandError(f"{path}:{number}: {field}: {message}") from None
        except json.JSONDecodeError as error:
            raise BrandError(f"{path}:{number}: no JSON: {error}") from None
        rows.append(row)
    counts = Counter(row.label for row in rows)
    for label in ("SUPPORTED", "UNSUPPORTED"):
        if counts[label] < LEAST:
            raise BrandError(
                f"{path}: {counts[label]} sentences are {label}; label at least {LEAST}, better 100"
            )
    return rows
