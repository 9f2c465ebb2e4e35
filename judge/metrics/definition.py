"""What a metric is: the fields it reads, its prompt, its classes and the words they answer to.

Goel et al., "Luna-2: Scalable Single-Token Evaluation with Small Language Models" (2025),
section 3.1 and Table 1. A definition is a YAML file; those of `judge/metrics` ship.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import Field, StringConstraints, ValidationError, model_validator

from ..contract.types import (
    MetricInput,
    MoonlynxError,
    Probability,
    Record,
    Text,
    first_fault,
    wrong,
)

Kind = Literal["boolean", "multi-class", "multi-label"]
Node = Literal["llm_span", "tools", "retriever", "trace"]
Reads = Literal["input", "output", "context", "tools", "trace"]
Cut = Literal["input", "output", "context"]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")]
Word = Annotated[str, StringConstraints(pattern=r"^\S(?:.*\S)?$")]

DECISION: Mapping[str, str] = {"true": "true", "false": "false"}
"""The two answers to each label of a multi-label metric, with their words."""

_OF_NODE: dict[Node, frozenset[Reads]] = {
    "llm_span": frozenset(),
    "tools": frozenset({"tools"}),
    "retriever": frozenset({"context"}),
    "trace": frozenset({"trace"}),
}
_FIELD = re.compile(r"\{\{(\w+)\}\}")
_TEMPLATE_FIELDS = {"mark", "sections", "labels", "answers"}


class DefinitionError(MoonlynxError, ValueError):
    """An unknown metric, or a YAML file that defines none."""


class Windows(Record):
    """How an input longer than the model is judged in parts.

    Attributes:
        cut: the fields that may be cut; the longest of them is.
        keep: the class whose highest probability over the windows counts, and with it the
            probabilities of that window. None, for multi-label: each label's own highest.
    """

    cut: tuple[Cut, ...] = Field(min_length=1)
    keep: str | None = None


class MetricDefinition(Record):
    """One metric.

    Attributes:
        name: snake case.
        description: what the metric says of an input, in one sentence.
        input_node: the part of a trace that it is for.
        reads: the fields of a MetricInput that its prompt shows, in order; those that an input
            leaves blank are left out.
        needs: those of them that may not be blank.
        prompt: name of the prompt's text file, with its version.
        template: that file's text, filled in when the definition is loaded.
        kind: boolean, multi-class: one of the classes holds. multi-label: any number of them.
        classes: of each class the word that it answers to, in the order of training. For
            multi-label the words that name each label; the answer to each is true or false.
        positive: boolean: the class that is looked for, as a rule the rare one.
        threshold: P from which the positive class, or a label, is taken to hold, until one is
            fitted.
        windows: how inputs too long for the model are judged; null refuses them as `too_long`.
    """

    name: Name
    description: Text
    input_node: Node
    reads: tuple[Reads, ...] = Field(min_length=1)
    needs: tuple[Reads, ...] = ()
    prompt: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*-v\d+$")]
    template: Text
    kind: Kind
    classes: dict[Name, Word] = Field(min_length=2)
    positive: str | None = None
    threshold: Probability = 0.5
    windows: Windows | None = None

    @model_validator(mode="after")
    def _sound(self) -> Self:
        _check_classes(self)
        _check_reads(self)
        _check_windows(self)
        _check_template(self)
        return self

    @property
    def answers(self) -> Mapping[str, str]:
        """Return what one decision chooses among: the classes, or true and false for each label."""
        return DECISION if self.kind == "multi-label" else self.classes

    def decide(
        self, labels: Mapping[str, float], thresholds: Mapping[str, float] | None = None
    ) -> frozenset[str]:
        """Return the classes that hold.

        Args:
            labels: P of each class, as a MetricVerdict has them.
            thresholds: fitted ones, of the positive class or of each label; where there is none,
                the definition's holds.
        """
        fitted = thresholds or {}
        if self.kind == "multi-class":
            return frozenset({max(self.classes, key=lambda name: labels[name])})
        if self.kind == "multi-label":
            held = (n for n in self.classes if labels[n] >= fitted.get(n, self.threshold))
            return frozenset(held)
        assert self.positive is not None
        holds = labels[self.positive] >= fitted.get(self.positive, self.threshold)
        (other,) = self.classes.keys() - {self.positive}
        return frozenset({self.positive if holds else other})


def _check_classes(definition: MetricDefinition) -> None:
    if definition.kind == "boolean":
        if len(definition.classes) != 2:
            raise wrong(f"classes: a boolean metric has two, not {len(definition.classes)}")
        if definition.positive not in definition.classes:
            raise wrong(f"positive: must be one of {', '.join(definition.classes)}")
    elif definition.positive is not None:
        raise wrong(f"positive: goes with boolean metrics, not with {definition.kind}")
    words = list(definition.classes.values())
    if twice := next((word for word in words if words.count(word) > 1), None):
        raise wrong(f"classes: two of them have the word {twice!r}")


def _check_reads(definition: MetricDefinition) -> None:
    node, reads = definition.input_node, set(definition.reads)
    if len(reads) < len(definition.reads):
        raise wrong("reads: names a field twice")
    if missing := _OF_NODE[node] - reads:
        raise wrong(f"reads: lacks {min(missing)}, which input_node {node} is about")
    if unread := set(definition.needs) - reads:
        raise wrong(f"needs: {min(unread)} is not among the fields in reads")


def _check_windows(definition: MetricDefinition) -> None:
    windows = definition.windows
    if windows is None:
        return
    if other := [field for field in windows.cut if field not in definition.reads]:
        raise wrong(f"windows.cut: {other[0]} is not among the fields in reads")
    if definition.kind == "multi-label":
        if windows.keep is not None:
            raise wrong("windows.keep: multi-label metrics have none")
    elif windows.keep not in definition.classes:
        raise wrong(f"windows.keep: must be one of {', '.join(definition.classes)}")


def _check_template(definition: MetricDefinition) -> None:
    fields = set(_FIELD.findall(definition.template))
    if unknown := fields - _TEMPLATE_FIELDS:
        known = ", ".join(sorted(_TEMPLATE_FIELDS))
        raise wrong(f"prompt: its text has the field {min(unknown)}; known: {known}")
    if missing := {"mark", "sections", "answers"} - fields:
        raise wrong(f"prompt: its text lacks the field {{{{{min(missing)}}}}}")


def blank(one: MetricInput, field: Reads) -> bool:
    """Return whether that field of the input is blank."""
    value = getattr(one, field)
    if field in ("input", "output"):
        return not value.strip()
    if field == "context":
        return not any(document.strip() for document in value or ())
    return value is None


def definitions() -> tuple[str, ...]:
    """Return the names of the bundled metrics, in alphabetical order."""
    folder = files("moonlynx.judge").joinpath("metrics")
    names = (file.name for file in folder.iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))


def load_definition(name: str | Path) -> MetricDefinition:
    """Read a metric's definition.

    Args:
        name: of one that ships, or the path of a YAML file. The file's prompt is beside it, or is
            one that ships.

    Raises:
        DefinitionError: there is none, or it is invalid; names the field.
    """
    if str(name) in definitions():
        return _load_shipped(str(name))
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        raise DefinitionError(
            f"no metric is called {str(name)!r}; known: {', '.join(definitions())}, "
            "or the path of a YAML file"
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DefinitionError(f"cannot read {path}: {error}") from None
    return _read(str(path), text, path.parent)


@cache
def _load_shipped(name: str) -> MetricDefinition:
    file = files("moonlynx.judge").joinpath("metrics", f"{name}.yaml")
    return _read(f"{name}.yaml", file.read_text(encoding="utf-8"), None)


def _read(source: str, text: str, folder: Path | None) -> MetricDefinition:
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise DefinitionError(f"{source} is not YAML: {error}") from None
    if not isinstance(content, dict):
        raise DefinitionError(f"{source}: must be a mapping with name, prompt, kind and classes")
    if "template" in content:
        raise DefinitionError(f"{source}: template: is the text of prompt; give the file's name")
    for field in ("classes", "reads"):
        _check_words(source, field, content.get(field))
    try:
        return MetricDefinition.model_validate(
            content | {"template": _template(source, content.get("prompt"), folder)}
        )
    except ValidationError as error:
        field, message = first_fault(error, "file")
        raise DefinitionError(f"{source}: {field}: {message}") from None


def _check_words(source: str, field: str, value: Any) -> None:
    """Refuse what YAML reads as something else than a word: true, no, 1."""
    words = [*value, *value.values()] if isinstance(value, dict) else value
    for word in words if isinstance(words, list) else ():
        if not isinstance(word, str):
            written = str(word).lower()
            raise DefinitionError(f'{source}: {field}: put {written} in quotes, as in "{written}"')


def _template(source: str, prompt: Any, folder: Path | None) -> str:
    shipped = files("moonlynx.judge").joinpath("prompts", "luna2", f"{prompt}.txt")
    try:
        if folder is not None and (own := folder / f"{prompt}.txt").is_file():
            return own.read_text(encoding="utf-8").strip()
        return shipped.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        where = "beside it, nor " if folder is not None else ""
        raise DefinitionError(
            f"{source}: prompt: there is no file {prompt}.txt {where}among the prompts that ship"
        ) from None
