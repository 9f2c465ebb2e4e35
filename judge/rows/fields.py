"""Read the fields of rows by the names that users give them.

`NAMES` are taken as they are; `IGNORED` are known, but do not mean what ours mean; any other
is mapped by `--map FIELD=NAME`.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..contract.types import BadInput, Example, MetricInput, MoonlynxError, Record
from .messages import MESSAGES, read_messages
from .names import FIELD_OF, IGNORED, NAMES, listed, missing, normalise, shown, text_in

_OF_METRICS = {"input": "question", "context": "context", "output": "answer"}
_LISTS = {"context", "samples", "conversation", "spans", "tools", "trace"}
_QUOTED = r"""(?:'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")"""
_PYTHON_LIST = re.compile(rf"\[\s*{_QUOTED}(?:[\s,]+{_QUOTED})*\s*\]", re.DOTALL)
_EACH_QUOTED = re.compile(_QUOTED, re.DOTALL)
ALL_DOCUMENTS = "*"  # as a context, with a judge that has an index


_KNOWN = {normalise(name): name for name in IGNORED}


class Cells(dict[str, str]):
    """A row of a CSV or TSV file: a list is a text there, and an empty cell holds nothing."""


@dataclass(frozen=True)
class FieldMap:
    """Which of a row's names are which of our fields, where `NAMES` do not say it."""

    # by our field, a name; dotted where it is nested, as in `inputs.question`
    paths: Mapping[str, str] = field(default_factory=dict, hash=False)
    # by our field, what it is where a row lacks it
    absent: Mapping[str, str] = field(default_factory=dict, hash=False)
    # those of `IGNORED` that rows had, noted while rows are read
    ignored: set[str] = field(default_factory=set, compare=False)

    @classmethod
    def parse(cls, pairs: Iterable[str], kind: type[Record] = Example) -> FieldMap:
        """Read `--map FIELD=NAME`.

        Raises:
            MoonlynxError: it is no such pair, or names a field that there is not, or one twice.
        """
        paths: dict[str, str] = {}
        for pair in pairs:
            ours, _, name = pair.partition("=")
            if not name:
                raise MoonlynxError(f"--map {pair}: write FIELD=NAME, as in --map answer=response")
            if ours not in kind.model_fields:
                known = ", ".join(kind.model_fields)
                raise MoonlynxError(f"--map {pair}: there is no field {ours!r}; use one of {known}")
            if ours in paths:
                raise MoonlynxError(f"--map {pair}: {ours} is mapped twice; keep one")
            paths[ours] = name
        return cls(paths)

    def stated(self) -> dict[str, str]:
        """Return what a run record holds of the mapping; nothing where there is none."""
        text = json.dumps(dict(sorted(self.paths.items())), ensure_ascii=False)
        return {"map": text} if self.paths else {}

    def notes(self) -> list[str]:
        """Return a line for each name that was ignored."""
        return [f"{name} was ignored: {IGNORED[name][1]}" for name in self.ignored]

    def check_columns(self, names: Iterable[str]) -> None:
        """Check that a header names the columns that every Example needs.

        Raises:
            BadInput: it does not; names those that it has.
        """
        row = dict.fromkeys(names, "")
        needed = [ours for ours in ("answer", "context") if ours not in self.absent]
        missing = [ours for ours in needed if not self._candidates(row, ours, ours)]
        if missing and MESSAGES not in row:
            columns = " and ".join(missing)
            message = f"has no column {columns}; its first row names {listed(row) or 'nothing'}"
            raise BadInput("bad_input", "row", f"{message}; give --map {missing[0]}=NAME")

    def pick(self, raw: Mapping[str, Any], kind: type[Record]) -> dict[str, Any]:
        """Return what a row holds of the fields of an Example or MetricInput; no null.

        Raises:
            BadInput: a field is there under two names, or a mapped name is missing.
        """
        found: dict[str, Any] = {}
        for ours in kind.model_fields:
            shared = _OF_METRICS.get(ours) if kind is MetricInput else ours
            value = self._value(raw, ours, shared)
            if isinstance(raw, Cells) and isinstance(value, str):
                value = _read_cell(ours, value)
            if value in (None, "", []):
                value = self.absent.get(ours, value)
            if value is not None:
                found[ours] = value
        known = {_KNOWN[normal] for name in raw if (normal := normalise(name)) in _KNOWN}
        self.ignored.update(known.difference(self.paths.values()))
        return found

    def _value(self, raw: Mapping[str, Any], ours: str, shared: str | None) -> Any:
        if ours in self.paths:
            name = self.paths[ours]
            try:
                value = value_at(raw, name)
            except LookupError:
                message = f"there is no {shown(name)} in the row, which --map {ours} names"
                raise BadInput("bad_input", ours, f"{message}; found {listed(raw)}") from None
        elif names := self._candidates(raw, ours, shared):
            full = [name for name in names if raw[name] not in ("", [])] or names
            name, value = full[0], raw[full[0]]
            for other in full:
                if raw[other] != value:
                    message = f"is given twice, as {shown(name)} and {shown(other)}; keep one"
                    raise BadInput("bad_input", ours, f"{message}, or give --map {ours}=NAME")
        else:
            return None
        if shared in NAMES:
            _refuse_objects(value, ours, name)
        return value

    def _candidates(self, raw: Mapping[str, Any], ours: str, shared: str | None) -> list[str]:
        """Return the row's names that are a field's, and hold something."""
        if ours in self.paths:
            return [name for name in starts(self.paths[ours]) if name in raw]
        mapped = {start for path in self.paths.values() for start in starts(path)}
        names = [name for name in raw if name not in mapped and raw[name] is not None]
        if shared in NAMES:
            return [name for name in names if FIELD_OF.get(normalise(name)) == shared]
        return [name for name in names if name == ours]


AS_NAMED = FieldMap()


def read_example(raw: Any, fields: FieldMap = AS_NAMED) -> Example:
    """Read an Example from a row or record, by whatever names its fields have.

    `messages` stand for the fields that `read_messages` finds, where there is no answer beside
    them. Other fields that an Example does not have are ignored.

    Raises:
        BadInput: names the field and, by its code, what became of it.
    """
    if not isinstance(raw, Mapping):
        message = f"must be a JSON object with context and answer, got {type(raw).__name__}"
        raise BadInput("bad_input", "row", message)
    known = fields.pick(raw, Example)
    if raw.get(MESSAGES) is not None and "answer" not in known:
        known = _with_messages(known, raw[MESSAGES])
    for needed in ("context", "answer"):
        if needed not in known:
            raise BadInput("bad_input", needed, missing(raw, needed))
    return Example.from_row(known)


def _with_messages(known: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """Join a row's own fields and those of its messages; its own documents come first."""
    if isinstance(value, str):  # a cell
        try:
            value = load_json(value)
        except (ValueError, RecursionError) as error:
            raise BadInput("bad_input", MESSAGES, f"is no JSON ({error})") from None
    found = read_messages(value)
    if known.get("question"):
        raise BadInput("bad_input", "question", f"is given twice, also by {MESSAGES}; keep one")
    own = known.get("context", [])
    own = [own] if isinstance(own, str) else list(own)
    names = [f"context[{number}]" for number in range(len(own))]
    found["context"], found["document_ids"] = own + found["context"], names + found["document_ids"]
    if not found["context"]:
        message = "hold no documents: no result of a tool, no system message, nothing users state"
        raise BadInput("empty_context", MESSAGES, message)
    return {**known, **found}


def id_of(raw: Any, fields: FieldMap = AS_NAMED) -> str | int | None:
    """Return a row's id where a verdict can hold it."""
    try:
        found = value_at(raw, fields.paths.get("id", "id"))
        return Example(id=found, context=("-",), answer="-").id
    except (LookupError, ValueError):
        return None


def load_json(text: str | bytes) -> Any:
    """Read JSON.

    Raises:
        BadInput: an object has a key twice.
        ValueError, RecursionError: it is no JSON.
    """
    return json.loads(text, object_pairs_hook=_once_each)


def value_at(value: Any, path: str) -> Any:
    """Return the value at a dotted path; for a list, the value there in each element.

    A name may itself hold dots, as `attributes.input.value` does in a table of spans.

    Raises:
        LookupError: there is nothing.
    """
    if not path:
        return value
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            value = load_json(value)  # a cell that holds JSON
        except (ValueError, RecursionError):
            raise LookupError(path) from None
    if isinstance(value, list):
        return [value_at(element, path) for element in value]
    if isinstance(value, Mapping):
        for name in starts(path):
            if name in value:
                return value_at(value[name], path[len(name) + 1 :])
    raise LookupError(path)


def starts(path: str) -> Iterator[str]:
    """Yield a path and its beginnings up to a dot, the longest first."""
    while path:
        yield path
        path = path.rpartition(".")[0]


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        times = Counter(name for name, _ in pairs)
        twice = next(name for name, count in times.items() if count > 1)
        raise BadInput("bad_input", "row", f"has the key {shown(twice)!r} twice; keep one")
    return found


def _read_cell(ours: str, text: str) -> Any:
    """Read a cell: where the field may be a list, one that JSON or Python writes is one."""
    if not text and ours not in (*NAMES, *_OF_METRICS):
        return None
    if ours not in _LISTS or not text.lstrip().startswith("["):
        return text
    try:
        return load_json(text)
    except (ValueError, RecursionError):
        # As pandas and RAGAS write a list of texts; nothing but quoted texts is evaluated.
        if _PYTHON_LIST.fullmatch(text.strip()):
            return [ast.literal_eval(each) for each in _EACH_QUOTED.findall(text)]
        return text  # a text that begins with a bracket


def _refuse_objects(value: Any, ours: str, name: str) -> None:
    inner = value[0] if isinstance(value, list) and value else value
    if isinstance(inner, Mapping):
        path = shown(text_in(inner, name))
        message = f"{shown(name)} holds an object; name the text in it, as by --map {ours}={path}"
        raise BadInput("bad_input", ours, message)
