"""The validation rows that choices are made on, and a judge's decision fitted to them."""

import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from moonlynx.judge.contract.base import Judge
from moonlynx.judge.contract.types import Example
from moonlynx.judge.decision.calibration import Calibration, fit_calibration, fit_parts
from moonlynx.judge.decision.lengths import Lengths
from moonlynx.judge.text import split_sentences
from moonlynx.judge.text.claims import claims_nothing

from .answers import LabelledAnswer
from .answers.base import as_spans
from .mixes import Mix

LONGEST = 3  # sentences

_MOST = 200  # validation rows of one set: a large one must not dominate the others
# Answers of several sentences to what was retrieved, as users' are, and pieces of them: a threshold
# fitted to long answers alone lets short ones pass. Long answers over records are nearly all FAIL
# in the sets there are, so only pieces of them are taken.
_LIKE_USERS = ("ragtruth_train_part", "qa_feedback")
_RECORDS = ("quintd-gsmarena", "quintd-ice_hockey", "quintd-openweather", "quintd-owid")
_LEAST = 10  # rows of either label in a validation set: the AUROC over fewer is chance


def validation_rows(mix: Mix, data: Path) -> dict[str, list[LabelledAnswer]]:
    """Return validation rows of the sets with enough of both labels: the same ones every time."""
    rng = random.Random(0)  # noqa: S311 - chance, not secrecy
    chosen = {}
    for name, rows in mix.validation(data).items():
        rows = rng.sample(rows, min(_MOST, len(rows)))
        counts = Counter(row.label for row in rows)
        if min(counts["PASS"], counts["FAIL"]) >= _LEAST:
            chosen[name] = rows
    return chosen


def calibration_rows(mix: Mix, data: Path) -> list[LabelledAnswer]:
    """Return the validation rows that a threshold is fitted to: answers like users' and pieces.

    For a mix without such rows, these are all that it has.
    """
    rows = validation_rows(mix, data)
    whole = [row for name in _LIKE_USERS for row in rows.get(name, ())]
    if not whole:
        return [row for found in rows.values() for row in found]
    records = mix.validation(data)
    rng = random.Random(0)  # noqa: S311 - chance, not secrecy
    return [
        *whole,
        *cut(whole, rng),
        *cut([row for name in _RECORDS for row in records.get(name, ())], rng),
    ]


def fit_judge(judge: Judge, mix: Mix, data: Path) -> Calibration:
    """Fit a claim-by-claim judge's thresholds and probability to the mix's `calibration_rows`.

    Raises:
        CalibrationError: the rows allow no fit.
    """
    answers = calibration_rows(mix, data)
    verdicts = judge([answer.example for answer in answers])
    calibration = fit_calibration(
        judge.info,
        [verdict.raw_score for verdict in verdicts],
        [answer.label for answer in answers],
        method="isotonic",
        objective="balanced-accuracy",
        data_sha256=rows_sha256(answers),
        lengths=Lengths.of(verdicts, [answer.group for answer in answers]),
    )
    return fit_parts(calibration, verdicts, [one.example.spans for one in answers], "isotonic")


def rows_sha256(answers: Sequence[LabelledAnswer]) -> str:
    """Hash the ids and labels that a calibration was fitted to."""
    rows: list[Any] = [[row.example.id, row.label] for row in answers]
    return hashlib.sha256(json.dumps(rows).encode("utf-8")).hexdigest()


def cut(answers: Sequence[LabelledAnswer], rng: random.Random) -> Iterator[LabelledAnswer]:
    """Yield pieces of one to `LONGEST` sentences of each answer whose spans are known.

    A piece is FAIL if a span touches it. Those that claim nothing are left out.
    """
    for answer in answers:
        example = answer.example
        if example.spans is None:
            continue
        sentences = split_sentences(example.answer)
        while sentences:
            length = rng.randint(1, LONGEST)
            chosen, sentences = sentences[:length], sentences[length:]
            if not all(claims_nothing(sentence.text) for sentence in chosen):
                yield _piece(answer, chosen[0].start, chosen[-1].end)


def _piece(answer: LabelledAnswer, start: int, end: int) -> LabelledAnswer:
    example = answer.example
    text = example.answer[start:end]
    inside = [
        (max(span.start, start) - start, min(span.end, end) - start)
        for span in example.spans or ()
        if span.start < end and start < span.end
    ]
    row = example.model_dump() | {
        "id": f"{example.id}/{start}-{end}",
        "answer": text,
        "label": "FAIL" if inside else "PASS",
        "spans": as_spans(text, inside),
    }
    return LabelledAnswer(Example.from_row(row), answer.exact, answer.group)
