"""Metrics of one token: inputs in, one pass of a small model, a probability for each class out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from ..backends.labels import LabelBackend, LabelReply, LabelRequest
from ..contract.types import JudgeError, JudgeInfo, MetricInput, MetricVerdict, Usage
from .adapter import Scaling, probabilities
from .definition import Cut, MetricDefinition, Windows
from .prompt import Encoded, Prompter, fault_of

_OVERLAP = 8  # the share of a piece that the next repeats is one in this many
_HEADING = 16  # tokens of a document's heading
_LEAST = 32  # tokens of a piece that still say something
_SHRINK = 0.9  # a text cut in pieces may take more tokens than it did whole

DIGITS = 6  # of a probability: below what two engines agree on


def windows(
    prompter: Prompter, one: MetricInput, how: Windows, positions: int
) -> list[Encoded] | JudgeError:
    """Write the prompts of an input's windows, each shorter than `positions`.

    Returns:
        The prompts, in the order of the text, or `too_long` where what may not be cut leaves no
        room.
    """
    lengths = {field: _length(prompter, one, field) for field in how.cut}
    field = max(how.cut, key=lambda name: lengths[name])
    frame = prompter.encode(_with(one, field, ["."]), positions)
    if isinstance(frame, JudgeError):
        return frame
    room = positions - len(frame.ids) - 1
    while room >= _LEAST:
        parts = [
            prompter.encode(_with(one, field, texts), positions)
            for texts in _portions(prompter, _texts(one, field), room)
        ]
        fitting = [part for part in parts if isinstance(part, Encoded)]
        if len(fitting) == len(parts):
            return fitting
        room = int(room * _SHRINK)
    message = f"all but {field} has {len(frame.ids)} tokens, which leaves no room for a window"
    return JudgeError(code="too_long", message=f"{message} within {positions}")


def _length(prompter: Prompter, one: MetricInput, field: Cut) -> int:
    return sum(prompter.count(text) for text in _texts(one, field))


def _texts(one: MetricInput, field: Cut) -> Sequence[str]:
    value: str | Sequence[str] | None = getattr(one, field)
    return (value,) if isinstance(value, str) else value or ()


def _with(one: MetricInput, field: Cut, texts: Sequence[str]) -> MetricInput:
    value = tuple(texts) if field == "context" else texts[0]
    return one.model_copy(update={field: value})


def _portions(prompter: Prompter, texts: Sequence[str], room: int) -> list[list[str]]:
    """Group texts, or the pieces of long ones, into portions of at most `room` tokens."""
    portions: list[list[str]] = []
    left = 0
    for text in texts:
        size = room - _HEADING
        pieces = (
            [text] if prompter.count(text) <= size else prompter.cut(text, size, size // _OVERLAP)
        )
        for piece in pieces:
            taken = prompter.count(piece) + _HEADING
            if taken > left or not portions:
                portions.append([])
                left = room
            portions[-1].append(piece)
            left -= taken
    return portions


@runtime_checkable
class Metric(Protocol):
    """Judges a batch: one verdict per input, in order, each independent of its neighbours.

    Attributes:
        info: name and version of what decides.
        definition: of the metric.
        thresholds: P from which the positive class, or each label, holds; empty where none were
            fitted.
        calibrated: the probabilities were fitted on labelled rows.
    """

    info: JudgeInfo
    definition: MetricDefinition
    thresholds: dict[str, float]
    calibrated: bool

    def __call__(self, inputs: Sequence[MetricInput]) -> list[MetricVerdict]:
        """Judge the inputs. Faults of one input become that verdict's error."""


class DecoderMetric:
    """A metric by a decoder: a head on a shared backbone, or the backbone prompted as it is."""

    def __init__(
        self,
        info: JudgeInfo,
        prompter: Prompter,
        backend: LabelBackend,
        adapter: str | None = None,
        scaling: Scaling | None = None,
        thresholds: dict[str, float] | None = None,
    ) -> None:
        """Set the metric up."""
        self.info = info
        self.definition = prompter.definition
        self.thresholds = dict(thresholds or {})
        self.calibrated = scaling is not None
        self.backend = backend
        self._prompter = prompter
        self._adapter = adapter
        self._scaling = scaling or Scaling()

    def __call__(self, inputs: Sequence[MetricInput]) -> list[MetricVerdict]:
        """Judge the inputs."""
        (verdicts,) = run_together([self], inputs)
        return verdicts

    def prepare(self, one: MetricInput) -> Job:
        """Write the input's prompt, or those of its windows, or say why it has none."""
        fault = fault_of(self.definition, one)
        if fault is not None:
            return Job((), fault)
        encoded = self._prompter.encode(one, self.backend.positions)
        if isinstance(encoded, Encoded):
            return Job((self._request(encoded),))
        if encoded.code != "too_long" or self.definition.windows is None:
            return Job((), encoded)
        parts = windows(self._prompter, one, self.definition.windows, self.backend.positions)
        if isinstance(parts, JudgeError):
            return Job((), parts)
        return Job(tuple(self._request(part) for part in parts))

    def finish(self, one: MetricInput, job: Job, replies: Sequence[LabelReply]) -> MetricVerdict:
        """Read the replies to the input's requests."""
        usage = Usage(
            calls=sum(reply.calls for reply in replies),
            input_tokens=sum(reply.input_tokens for reply in replies),
            windows=len(replies),
        )
        error = job.fault or next((reply.error for reply in replies if reply.error), None)
        if error is not None:
            return MetricVerdict(id=one.id, metric=self.definition.name, usage=usage, error=error)
        labels = self._over_windows(
            [
                probabilities(self.definition, self._prompter.tokens, self._scaling, reply.logprobs)
                for reply in replies
            ]
        )
        rounded = {name: round(p, DIGITS) for name, p in labels.items()}
        return MetricVerdict(id=one.id, metric=self.definition.name, labels=rounded, usage=usage)

    def _over_windows(self, found: list[dict[str, float]]) -> dict[str, float]:
        """Join windows as the definition says."""
        if self.definition.kind == "multi-label":
            return {name: max(labels[name] for labels in found) for name in found[0]}
        if len(found) == 1:
            return found[0]
        assert self.definition.windows is not None
        assert self.definition.windows.keep is not None
        keep = self.definition.windows.keep
        return max(found, key=lambda labels: labels[keep])

    def _request(self, encoded: Encoded) -> LabelRequest:
        labels = tuple(self._prompter.tokens.ids.values())
        return LabelRequest(tuple(encoded.ids), encoded.places, labels, self._adapter)


class Job(NamedTuple):
    """What an input became: the requests of its windows, or why there are none."""

    requests: tuple[LabelRequest, ...]
    fault: JudgeError | None = None


def run_together(
    metrics: Sequence[DecoderMetric], inputs: Sequence[MetricInput]
) -> list[list[MetricVerdict]]:
    """Run several metrics over the same inputs; those on one backend share its batches.

    What is shared is the backbone's weights and the work with them. The text is computed once for
    each head all the same: an adapter changes keys and values from the first layer on.

    Returns:
        The verdicts of each metric, in order.
    """
    pairs = [(metric, one) for metric in metrics for one in inputs]
    jobs = [metric.prepare(one) for metric, one in pairs]
    replies: dict[int, list[LabelReply]] = {}
    for backend in {id(metric.backend): metric.backend for metric in metrics}.values():
        mine = [index for index, (metric, _) in enumerate(pairs) if metric.backend is backend]
        requests = [request for index in mine for request in jobs[index].requests]
        scored = iter(backend.score(requests) if requests else ())
        for index in mine:
            replies[index] = [next(scored) for _ in jobs[index].requests]
    flat = iter(
        metric.finish(one, jobs[index], replies[index]) for index, (metric, one) in enumerate(pairs)
    )
    return [[next(flat) for _ in inputs] for _ in metrics]
