"""Guard policies: which metrics are asked of a text, from which probability, and what happens then.

A policy is a YAML file (`GuardPolicy`). Of all rules that hold the strictest action counts: block,
then mask, then flag, then pass.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import Field, ValidationError

from moonlynx.judge.contract.types import (
    Id,
    JudgeError,
    MetricInput,
    MetricSpan,
    MetricVerdict,
    MoonlynxError,
    Probability,
    Record,
    Text,
    first_fault,
)
from moonlynx.judge.files.stored import load_yaml
from moonlynx.judge.metrics.metric import Metric
from moonlynx.judge.metrics.spans import cover

Action = Literal["pass", "flag", "mask", "block"]
_STRICTNESS: tuple[Action, ...] = get_args(Action)


class GuardPolicyError(MoonlynxError, ValueError):
    """A policy's file that cannot be read, or asks of a metric what it has not."""


class Rule(Record):
    """What happens where a metric's labels hold.

    Attributes:
        metric: as for `--metric`.
        labels: any of these; by default the positive class, or every label of a multi-label metric.
        at: the probability from which they hold; by default the metric's own threshold.
        do: pass only reports it; mask puts [LABEL] in the place of each span.
    """

    metric: Text
    labels: tuple[Text, ...] = ()
    at: Probability | None = None
    do: Action


class GuardPolicy(Record):
    """Rules, and what happens where a metric cannot judge a text: it is never passed in silence."""

    name: Text
    rules: Annotated[tuple[Rule, ...], Field(min_length=1)]
    on_error: Literal["pass", "flag", "block"] = "flag"

    @property
    def metrics(self) -> list[str]:
        """Return the names of the metrics that are asked, each once."""
        return list(dict.fromkeys(rule.metric for rule in self.rules))


class Hit(Record):
    """A rule that holds: the label with its probability, and what is done."""

    metric: Text
    label: Text
    probability: Probability
    do: Action


class Guarded(Record):
    """What a policy says of a text.

    `input` and `output` are the texts to go on with, masked where a rule says so; null if blocked.
    """

    id: Id | None = None
    policy: Text
    action: Action
    hits: tuple[Hit, ...] = ()
    errors: dict[Text, JudgeError] = Field(default_factory=dict)
    input: Text | None
    output: Text | None


def load_guard_policy(path: Path) -> GuardPolicy:
    """Read a policy's file.

    Raises:
        GuardPolicyError: it cannot be read, is no YAML, or a field is wrong; names the field.
    """
    content = load_yaml(path, GuardPolicyError)
    if not isinstance(content, dict):
        raise GuardPolicyError(f"{path}: must be a mapping with name and rules")
    try:
        return GuardPolicy.model_validate({"name": path.stem} | content)
    except ValidationError as error:
        field, message = first_fault(error, "file")
        raise GuardPolicyError(f"{path}: {field}: {message}") from None


class Guardrails:
    """A policy with its metrics, by the names that the policy has for them."""

    def __init__(self, policy: GuardPolicy, metrics: Mapping[str, Metric]) -> None:
        """Check that each metric has what its rules ask.

        Raises:
            GuardPolicyError: a rule names a label that its metric lacks, or none where it has to,
                or masks by a metric without spans.
        """
        self.policy = policy
        self._metrics = metrics
        self._labels = [self._labels_of(rule, place) for place, rule in enumerate(policy.rules)]

    def _labels_of(self, rule: Rule, place: int) -> Sequence[str]:
        metric, where = self._metrics[rule.metric], f"{self.policy.name}: rules.{place}"
        classes = ", ".join(metric.definition.classes)
        if unknown := set(rule.labels) - metric.definition.classes.keys():
            raise GuardPolicyError(
                f"{where}.labels: {rule.metric} has no {min(unknown)!r}; it has {classes}"
            )
        if rule.do == "mask" and not getattr(metric, "spans", False):
            raise GuardPolicyError(f"{where}.do: {rule.metric} has no spans to mask; block or flag")
        if metric.definition.kind == "multi-class" and not rule.labels:
            raise GuardPolicyError(f"{where}.labels: is missing; name some of {classes}")
        positive = metric.definition.positive
        return rule.labels or ([positive] if positive else list(metric.definition.classes))

    def decide(self, one: MetricInput, verdicts: Mapping[str, MetricVerdict]) -> Guarded:
        """Decide by the verdicts on an input, by the metrics' names in the policy."""
        hits: list[Hit] = []
        masked: list[MetricSpan] = []
        for rule, labels in zip(self.policy.rules, self._labels, strict=True):
            for label in self._held(rule, labels, verdicts[rule.metric]):
                spans = [s for s in verdicts[rule.metric].spans if s.label == label]
                # What has to be hidden and cannot be is not let through.
                do: Action = "block" if rule.do == "mask" and not spans else rule.do
                p = verdicts[rule.metric].labels[label]
                hits.append(Hit(metric=rule.metric, label=label, probability=p, do=do))
                masked += spans if do == "mask" else []
        errors = {name: found.error for name, found in verdicts.items() if found.error}
        actions = [*(hit.do for hit in hits), *([self.policy.on_error] if errors else ["pass"])]
        action = max(actions, key=_STRICTNESS.index)
        blocked = action == "block"
        return Guarded(
            id=one.id,
            policy=self.policy.name,
            action=action,
            hits=tuple(hits),
            errors=errors,
            input=None if blocked else cover(one.input, "input", masked, _name_label),
            output=None if blocked else cover(one.output, "output", masked, _name_label),
        )

    def _held(self, rule: Rule, labels: Sequence[str], found: MetricVerdict) -> Iterator[str]:
        if found.error is not None:
            return
        metric = self._metrics[rule.metric]
        held = metric.definition.decide(found.labels, metric.thresholds)
        for label in labels:
            if label in held if rule.at is None else found.labels[label] >= rule.at:
                yield label


def _name_label(span: MetricSpan) -> str:
    return f"[{span.label.upper()}]"
