"""The metric pii: data of a format by its format; names by a tagger; the rest by the head."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

from ...contract.types import MetricInput, MetricSpan, MetricVerdict, Usage
from ...text import Piece, iter_sentences, stems_of
from ..adapter import HeadError
from ..formats import FORMATS, find_formats
from ..spans import cover
from .head import NAMES, NameScorer
from .metric import EncoderMetric

Field = Literal["input", "output"]
_FIELDS: tuple[Field, ...] = ("input", "output")
_NAME = re.compile(
    r"(?:[^\W\d_a-z][\w'’&-]*\.?)(?: (?:(?:of|de|van|von|da) )?[^\W\d_a-z][\w'’&-]*)*"
)
_MOST = 256  # sentences of an input whose names are looked for, so that a long one takes no longer
_HIDDEN = "it"  # stands for what has a format
_VERSION = "names2"


class PiiMetric:
    """Joins formats, the tagger of names and the head.

    What has a format has P 1 where it is found, else 0: a neural head has no say in it. Persons,
    places and organisations are runs of capitalised words, which the tagger reads in their
    sentence; the text's P is that of the likeliest, and where it reaches the threshold there is a
    span. Addresses and dates are the head's own, which reads what has a format as a word: many
    digits are no address.
    """

    calibrated = True
    spans = True

    def __init__(self, head: EncoderMetric) -> None:
        """Take the head of pii.

        Raises:
            HeadError: it was fitted without names.
        """
        if head.head.names is None:
            raise HeadError("the head of pii has no names; fit it anew: moonlynx train luna2-heads")
        self._head = head
        self._tag = NameScorer(head.head.names, head.definition.name)
        self.info = head.info.model_copy(update={"version": f"{head.info.version}-{_VERSION}"})
        self.definition = head.definition
        least = head.definition.threshold
        self.thresholds = {**head.thresholds, **dict.fromkeys((*FORMATS, *NAMES), least)}

    def __call__(self, inputs: Sequence[MetricInput]) -> list[MetricVerdict]:
        """Judge the inputs."""
        formats = [list(_formats(one)) for one in inputs]
        hidden = [_hide(one, spans) for one, spans in zip(inputs, formats, strict=True)]
        found = zip(inputs, self._head(hidden), formats, strict=True)
        return [self._join(one, verdict, spans) for one, verdict, spans in found]

    def _join(
        self, one: MetricInput, found: MetricVerdict, spans: list[MetricSpan]
    ) -> MetricVerdict:
        if found.error is not None:
            return found
        labels = found.labels | dict.fromkeys((*FORMATS, *NAMES), 0.0)
        labels |= {span.label: 1.0 for span in spans}
        usage = found.usage
        for field, piece, runs in islice(_with_names(one, spans), _MOST):
            there, numbers, read = self._head.reader.read_runs(piece.text, runs)
            usage += Usage(calls=1, input_tokens=read)
            tagged = self._tag(numbers)[:, 1:].round(6) if there else ()
            for (start, end), p in zip(there, tagged, strict=True):
                labels |= {name: max(labels[name], float(p[i])) for i, name in enumerate(NAMES)}
                label = NAMES[p.argmax()]
                if p.max() >= self.thresholds[label]:
                    place = field, piece.start + start, piece.start + end
                    spans.append(_span(one, *place, label, float(p.max())))
        spans.sort(key=lambda span: (span.field, span.start))
        return found.model_copy(
            update={
                "labels": {name: labels[name] for name in self.definition.classes},
                "spans": tuple(spans),
                "usage": usage,
            }
        )


def find_runs(text: str) -> list[tuple[int, int]]:
    """Return the runs of capitalised words in a sentence, those of stop words alone left out."""
    return [
        (match.start(), match.start() + len(match.group().removesuffix(".")))
        for match in _NAME.finditer(text)
        if stems_of(match.group())
    ]


def _formats(one: MetricInput) -> Iterator[MetricSpan]:
    for field in _FIELDS:
        for kind, start, end in find_formats(getattr(one, field)):
            yield _span(one, field, start, end, kind, 1.0)


def _hide(one: MetricInput, spans: Sequence[MetricSpan]) -> MetricInput:
    """Put a word in the place of each span."""
    texts = {
        "input": cover(one.input, "input", spans, lambda _: _HIDDEN),
        "output": cover(one.output, "output", spans, lambda _: _HIDDEN),
    }
    return one.model_copy(update=texts)


def _span(
    one: MetricInput, field: Field, start: int, end: int, label: str, probability: float
) -> MetricSpan:
    text = getattr(one, field)[start:end]
    return MetricSpan(
        start=start, end=end, text=text, probability=probability, label=label, field=field
    )


def _with_names(
    one: MetricInput, spans: Sequence[MetricSpan]
) -> Iterator[tuple[Field, Piece, list[tuple[int, int]]]]:
    """Yield the sentences that hold runs of capitalised words; what has a format is no name."""
    for field in _FIELDS:
        taken = [(span.start, span.end) for span in spans if span.field == field]
        for piece in iter_sentences(getattr(one, field)):
            runs = [
                (start, end)
                for start, end in find_runs(piece.text)
                if not any(a < piece.start + end and piece.start + start < b for a, b in taken)
            ]
            if runs:
                yield field, piece, runs
