"""The metric pii: data of a format by its format; names, places and organisations by the head."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from ...contract.types import MetricInput, MetricSpan, MetricVerdict
from ...text import iter_sentences, stems_of
from ..formats import FORMATS, find_formats
from .metric import EncoderMetric

Field = Literal["input", "output"]
_FIELDS: tuple[Field, ...] = ("input", "output")
_NAMES = ("person", "location", "organization")  # the kinds of the head that get spans
_NAME = re.compile(
    r"(?:[^\W\d_a-z][\w'’&-]*\.?)(?: (?:(?:of|de|van|von|da) )?[^\W\d_a-z][\w'’&-]*)*"
)
_MOST = 64  # candidates of an input that are read, so that a long one takes no longer
_HIDDEN = "something"
_VERSION = "formats1"


class _Candidate(NamedTuple):
    """A run of capitalised words: where it is, and its sentence with all other such runs hidden."""

    field: Field
    start: int
    end: int
    sentence: str


class PiiMetric:
    """Joins formats and the head.

    What has a format has P 1 where it is found, else 0: a neural head has no say in it. Persons,
    places and organisations have the greatest P of a run of capitalised words that the head reads
    in its sentence with the other runs hidden; of a whole text it takes "I" and "my" for a person.
    Where that reaches the threshold there is a span. Addresses and dates are the head's own.
    """

    calibrated = True
    spans = True

    def __init__(self, head: EncoderMetric) -> None:
        """Take the head of pii."""
        self._head = head
        self.info = head.info.model_copy(update={"version": f"{head.info.version}-{_VERSION}"})
        self.definition = head.definition
        # Those with the best F1 on the head's own rows, as low as .07, hold in most other texts.
        least = head.definition.threshold
        self.thresholds = {name: max(bar, least) for name, bar in head.thresholds.items()}
        self.thresholds |= dict.fromkeys(FORMATS, least)

    def __call__(self, inputs: Sequence[MetricInput]) -> list[MetricVerdict]:
        """Judge the inputs."""
        found = self._head(inputs)
        return [self._join(one, verdict) for one, verdict in zip(inputs, found, strict=True)]

    def _join(self, one: MetricInput, found: MetricVerdict) -> MetricVerdict:
        if found.error is not None:
            return found
        spans = list(_formats(one))
        candidates = list(islice(_candidates(one, spans), _MOST))
        read = self._head([MetricInput(input="", output=each.sentence) for each in candidates])
        labels = found.labels | dict.fromkeys((*FORMATS, *_NAMES), 0.0)
        labels |= {span.label: 1.0 for span in spans}
        for candidate, alone in zip(candidates, read, strict=True):
            label = max(_NAMES, key=lambda name: alone.labels[name] - self.thresholds[name])
            labels |= {name: max(labels[name], alone.labels[name]) for name in _NAMES}
            if alone.labels[label] >= self.thresholds[label]:
                place = candidate.field, candidate.start, candidate.end
                spans.append(_span(one, *place, label, alone.labels[label]))
        spans.sort(key=lambda span: (span.field, span.start))
        tokens = found.usage.input_tokens + sum(each.usage.input_tokens for each in read)
        calls = {"calls": found.usage.calls + len(read), "input_tokens": tokens}
        return found.model_copy(
            update={
                "labels": {name: labels[name] for name in self.definition.classes},
                "spans": tuple(spans),
                "usage": found.usage.model_copy(update=calls),
            }
        )


def _formats(one: MetricInput) -> Iterator[MetricSpan]:
    for field in _FIELDS:
        for kind, start, end in find_formats(getattr(one, field)):
            yield _span(one, field, start, end, kind, 1.0)


def _span(
    one: MetricInput, field: Field, start: int, end: int, label: str, probability: float
) -> MetricSpan:
    text = getattr(one, field)[start:end]
    return MetricSpan(
        start=start, end=end, text=text, probability=probability, label=label, field=field
    )


def _candidates(one: MetricInput, spans: Sequence[MetricSpan]) -> Iterator[_Candidate]:
    for field in _FIELDS:
        taken = [(span.start, span.end) for span in spans if span.field == field]
        for piece in iter_sentences(getattr(one, field)):
            runs = [m.span() for m in _NAME.finditer(piece.text) if stems_of(m.group())]
            for first, last in runs:
                start, end = piece.start + first, piece.start + last
                # Any word begins a sentence with a capital; what has a format is no name.
                alone = not first and " " not in piece.text[:last]
                if not alone and not any(a < end and start < b for a, b in taken):
                    yield _Candidate(field, start, end, _hide(piece.text, runs, first))


def _hide(text: str, runs: Sequence[tuple[int, int]], but: int) -> str:
    """Return a text with its runs hidden, but for the one that starts there."""
    for start, end in reversed(runs):
        if start != but:
            text = f"{text[:start]}{_HIDDEN}{text[end:]}"
    return text
