"""What the chat models are asked, how their replies are read, and what is made of them."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from moonlynx.judge.backends.base import ChatRequest
from moonlynx.judge.batch.chat_tasks import Fault, read_reply
from moonlynx.judge.contract.types import MetricInput, Turn
from moonlynx.judge.judges.prompted.objects import keyed_schema
from moonlynx.judge.metrics.definition import DefinitionError, MetricDefinition, blank
from moonlynx.judge.metrics.preflight import TokenMap
from moonlynx.judge.metrics.prompt import write
from moonlynx.judge.prompts import fill, load_prompt
from moonlynx.judge.prompts.parsing import shorten

from ..data.rows import DraftRow

LABEL, REWRITE = "luna2/label-v1", "luna2/rewrite-v1"
_TEXTS = ("input", "output", "context")  # fields that can be rewritten
_SECTIONS, _ANSWERS = "{{sections}}", "{{answers}}"


@dataclass(frozen=True)
class Label:
    """Label rows by the vote of the models."""

    max_tokens, name = 512, LABEL

    definition: MetricDefinition
    confirm: bool = False  # drop a row whose own labels the vote does not confirm

    def request(self, row: DraftRow) -> ChatRequest:
        """Ask for the labels, with the reasoning before them, greedily.

        Raises:
            DefinitionError: the prompt says how to answer in the paragraph of its sections.
        """
        classes, many = self.definition.classes, self.definition.kind == "multi-label"
        named = ", ".join(f"{name} ({words})" for name, words in classes.items())
        due = f"a list with the one that holds, of {', '.join(classes)}."
        labels: dict[str, Any] = {
            "type": "array",
            "items": {"type": "string", "enum": list(classes)},
            "maxItems": len(classes) if many else 1,
        }
        if many:
            due = f"a list of all that hold, empty if none does, of {named}."
        else:
            labels["minItems"] = 1
        return ChatRequest(
            _ask(self.definition, row, fill(load_prompt(LABEL), labels_due=due)),
            schema=keyed_schema({"reasoning": {"type": "string"}, "labels": labels}),
            max_tokens=self.max_tokens,
        )

    def read(self, row: DraftRow, text: str) -> frozenset[str] | Fault:  # noqa: ARG002 (as Rewrite)
        """Read the labels of one model."""
        reply = read_reply(text, _Labels)
        if isinstance(reply, Fault):
            return reply
        found, name = frozenset(reply.labels), self.definition.name
        if unknown := found - self.definition.classes.keys():
            message = f"labels: {shorten(min(unknown))!r} is no class of {name}"
            return Fault(reason="unparsed", message=message)
        if self.definition.kind != "multi-label" and len(found) != 1:
            message = f"labels: {name} takes one, got {len(found)}"
            return Fault(reason="unparsed", message=message)
        return found

    def make(self, row: DraftRow, said: Sequence[frozenset[str] | Fault]) -> dict[str, Any] | Fault:
        """Return the row with the labels that most models chose, or why there are none."""
        voted = vote(self.definition, said)
        if isinstance(voted, Fault):
            return voted
        labels, votes = voted
        if self.confirm and labels != frozenset(row.labels or ()):
            had, got = (", ".join(sorted(each)) or "none" for each in (row.labels or (), labels))
            return Fault(reason="contradictory", message=f"the row says {had}, the vote {got}")
        return row.model_dump() | {"labels": sorted(labels), "votes": votes}


def vote(
    definition: MetricDefinition, said: Sequence[frozenset[str] | Fault]
) -> tuple[frozenset[str], dict[str, int]] | Fault:
    """Return the labels that most models chose, and the votes for each class.

    Of a multi-label metric each label is voted on by itself. More than half of the models must have
    returned labels, and a tie settles nothing.
    """
    valid = [each for each in said if not isinstance(each, Fault)]
    if 2 * len(valid) <= len(said):
        fault = next(each for each in said if isinstance(each, Fault))
        message = f"{len(valid)} of {len(said)} models gave labels: {fault.message}"
        return Fault(reason=fault.reason, message=message)
    counted = Counter(name for labels in valid for name in labels)
    votes = {name: counted[name] for name in definition.classes}
    tie = Fault(reason="contradictory", message=f"the models are even: {json.dumps(votes)}")
    if definition.kind == "multi-label":
        if any(2 * count == len(valid) for count in votes.values()):
            return tie
        return frozenset(name for name, n in votes.items() if 2 * n > len(valid)), votes
    most = max(votes.values())
    first = [name for name, count in votes.items() if count == most]
    return (frozenset(first), votes) if len(first) == 1 else tie


@dataclass(frozen=True)
class Rewrite:
    """Rewrite rows, by one model, so that their labels hold by the metric's definition."""

    max_tokens, name = 2_048, REWRITE

    definition: MetricDefinition

    def request(self, row: DraftRow) -> ChatRequest:
        """Ask for the row to be rewritten, at temperature 1: the rows should differ.

        Raises:
            DefinitionError: as for `Label`.
        """
        text = {"type": "string"}
        properties: dict[str, Any] = {"reasoning": text}
        due = []
        for name in self._fields(row):
            if name == "context":
                n = len(row.context or ())
                properties[name] = {"type": "array", "items": text, "minItems": n, "maxItems": n}
                due.append(f'"context": the {n} DOCUMENT sections, rewritten, as a list.')
            else:
                properties[name] = text
                due.append(f'"{name}": the {name.upper()} section, rewritten.')
        target = " and ".join(self.definition.classes[name] for name in sorted(row.labels or ()))
        asked = fill(load_prompt(REWRITE), target=target or "none", fields_due="\n".join(due))
        return ChatRequest(
            _ask(self.definition, row, asked),
            schema=keyed_schema(properties),
            max_tokens=self.max_tokens,
            temperature=1.0,
        )

    def read(self, row: DraftRow, text: str) -> dict[str, Any] | Fault:
        """Read the fields of a rewritten row; each must be there, changed, and not blank."""
        reply = read_reply(text, _Rewritten)
        if isinstance(reply, Fault):
            return reply
        found = {name: getattr(reply, name) for name in self._fields(row)}
        for name, value in found.items():
            parts = value if isinstance(value, list) else [value]
            if value is None or not all(part.strip() for part in parts):
                return Fault(reason="unparsed", message=f"{name}: is missing or blank")
            if name == "context" and len(parts) != len(row.context or ()):
                return Fault(reason="unparsed", message=f"context: has {len(parts)} documents")
        if found == row.model_dump(mode="json", include=set(found)):
            return Fault(reason="contradictory", message="nothing was rewritten")
        return found

    def make(self, row: DraftRow, said: Sequence[dict[str, Any] | Fault]) -> dict[str, Any] | Fault:
        """Return the rewritten row; it keeps its group, and with it its side of a split."""
        (found,) = said
        return found if isinstance(found, Fault) else row.model_dump() | found

    def _fields(self, row: DraftRow) -> list[str]:
        return [n for n in self.definition.reads if n in _TEXTS and not blank(row, n)]


class _Labels(BaseModel):
    labels: list[str]


class _Rewritten(BaseModel):
    input: str | None = None
    output: str | None = None
    context: list[str] | None = None


def _ask(definition: MetricDefinition, one: MetricInput, due: str) -> tuple[Turn, ...]:
    """Return the metric's own prompt over the input, with `due` in the place of its last part."""
    parts = definition.template.split("\n\n")
    kept = "\n\n".join(part for part in parts if _ANSWERS not in part)
    if _SECTIONS not in kept:
        raise DefinitionError(
            f"{definition.name}: prompt: put what is said of {_ANSWERS} in a paragraph of its own"
        )
    words = dict(definition.answers)
    said = TokenMap(written=words, ids=dict.fromkeys(words, 0))
    own = definition.model_copy(update={"template": f"{kept}\n\n{due}"})
    return (Turn(role="user", content=write(own, said, one)),)
