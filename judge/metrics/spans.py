"""Spans of a metric's input, with other words in their places."""

from collections.abc import Callable, Sequence

from ..contract.types import MetricSpan


def cover(
    text: str, field: str, spans: Sequence[MetricSpan], write: Callable[[MetricSpan], str]
) -> str:
    """Put what `write` returns in the place of each span of the field whose text is given.

    Of spans that overlap the first is written, of those that begin together the longest; nothing of
    the others is left.
    """
    pieces, done = [], 0
    for span in sorted((s for s in spans if s.field == field), key=lambda s: (s.start, -s.end)):
        if span.start >= done:
            pieces += [text[done : span.start], write(span)]
        done = max(done, span.end)
    return "".join([*pieces, text[done:]])
