"""The tagger of pii: which runs of capitalised words name a person, a place or an organisation.

Presidio's rows say it of invented names in templates. Of names that are real, InfoTabS says it: a
hypothesis names what its info box is of, or what stands in one of its fields. A run that neither
knows is left out.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.metrics.encoder.features import FeatureReader
from moonlynx.judge.metrics.encoder.head import NAMES, StateWeights, pack
from moonlynx.judge.metrics.encoder.pii import find_runs
from moonlynx.judge.text import iter_sentences

from .data.rows import Side
from .data.texts import KINDS, presidio

_NONE, _PERSON, _PLACE, _ORGANISATION = range(1 + len(NAMES))
_WEIGHT = 2.0  # of Presidio's runs, which are fewer
_STRENGTHS = (1e-4, 3e-4, 1e-3)  # inverse penalties; the one with the least mean loss is taken
_STEPS = 400
# Presidio's kinds that are written with a capital and name none of the three.
_OTHERS = frozenset(("NRP", "TITLE", "PREFIX", "DATE_TIME"))
# What the box is of, by a field that it has; the first that fits.
_BOXES: tuple[tuple[frozenset[str], int], ...] = (
    (frozenset(("Born", "Birth name")), _PERSON),
    (frozenset(("Headquarters", "Industry", "Founder", "Revenue")), _ORGANISATION),
    (frozenset(("Coordinates", "Elevation", "Capital", "Demonym(s)", "Population")), _PLACE),
    (frozenset(("Years active", "Associated acts")), _ORGANISATION),  # bands
    (frozenset(("Directed by", "Artist", "Genre", "Length", "Author", "Released")), _NONE),
)
# What stands in a field; a later row overrules one before it.
_FIELDS: tuple[tuple[int, str], ...] = (
    (_NONE, "Nationality|Language|Religion|Genre|Genres|Awards|Demonym(s)|Instruments|Occupation"),
    (_NONE, "Medium|Type|Fields|Year|Date|Released|Release date"),
    (_PLACE, "Country|Origin|Location|Residence|Headquarters|Country of origin|Capital"),
    (_PLACE, "Resting place|Born|Died"),
    (_ORGANISATION, "Label|Labels|Distributed by|Production company|Alma mater|Manufacturer"),
    (_PERSON, "Spouse(s)|Children|Parent(s)|Relatives|Partner(s)|Birth name|President|Starring"),
    (_PERSON, "Directed by|Produced by|Edited by|Cinematography|Written by|Music by|Screenplay by"),
    (_PERSON, "Artist|Producer"),
)
_CALENDAR = """january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday spring summer autumn fall winter
    english french spanish german italian american british christmas easter internet"""
_PART = re.compile(r"[,;()]| {2}")
_ARTICLE = re.compile(r"(the|an?) ")


class NamedRuns(NamedTuple):
    """A sentence, its runs of capitalised words, and what each names.

    `kinds` are 0 for nothing, or 1 + the place in `NAMES`.
    """

    source: str
    side: Side
    sentence: str
    runs: tuple[tuple[int, int], ...]
    kinds: tuple[int, ...]


def fit_names(reader: FeatureReader, data: Path) -> StateWeights:
    """Fit a regression over runs to training rows; the penalty is chosen on validation rows."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.preprocessing import StandardScaler

    tables: dict[tuple[str, Side], tuple[NDArray[Any], NDArray[Any]]] = {}
    rows = [*read_presidio(data), *read_boxes(data)]
    for key in sorted({(row.source, row.side) for row in rows}):
        own = [row for row in rows if (row.source, row.side) == key]
        read = [_read(reader, row) for row in own]
        tables[key] = tuple(map(np.concatenate, zip(*read, strict=True)))  # type: ignore[assignment]
    training = [(source, *tables[source, side]) for source, side in tables if side == "train"]
    numbers = np.concatenate([x for _, x, _ in training])
    kinds = np.concatenate([y for *_, y in training])
    weights = np.concatenate(
        [np.full(len(y), _WEIGHT if source == "presidio" else 1.0) for source, _, y in training]
    )
    scaler = StandardScaler().fit(numbers)
    held = [table for (_, side), table in tables.items() if side == "validation"]
    tried = []
    for strength in _STRENGTHS:
        model = LogisticRegression(C=strength, max_iter=_STEPS)
        model.fit(scaler.transform(numbers), kinds, sample_weight=weights)
        losses = [
            log_loss(y, model.predict_proba(scaler.transform(x)), labels=model.classes_)
            for x, y in held
        ]
        tried.append((float(np.mean(losses)), strength, model))
    _, _, model = min(tried, key=lambda one: one[0])
    folded = model.coef_ / scaler.scale_
    bias = model.intercept_ - folded @ scaler.mean_
    return StateWeights(weights=pack(folded.astype(np.float16)), bias=tuple(map(float, bias)))


def _read(reader: FeatureReader, row: NamedRuns) -> tuple[NDArray[Any], NDArray[Any]]:
    there, numbers, _ = reader.read_runs(row.sentence, row.runs)
    kinds = dict(zip(row.runs, row.kinds, strict=True))
    return numbers, np.array([kinds[run] for run in there], dtype=np.int64)


def read_presidio(data: Path) -> Iterator[NamedRuns]:
    """Read Presidio's sentences with what their runs name."""
    for row in presidio(data):
        for piece in iter_sentences(row.fields["full_text"]):
            kinds = {
                (start, end): _of_spans(row.fields["spans"], piece.start + start, piece.start + end)
                for start, end in find_runs(piece.text)
            }
            yield from _known("presidio", row.side, piece.text, kinds)


def _of_spans(spans: list[dict[str, Any]], start: int, end: int) -> int | None:
    """Return what a run names; None where a span has part of it, or it is part of an address."""
    types = {
        s["entity_type"] for s in spans if s["start_position"] < end and start < s["end_position"]
    }
    if types <= _OTHERS:
        return _NONE
    named = {KINDS.get(one) for one in types - _OTHERS}
    (kind,) = named if len(named) == 1 else (None,)
    return 1 + NAMES.index(kind) if kind in NAMES else None


def read_boxes(data: Path) -> Iterator[NamedRuns]:
    """Read InfoTabS' hypotheses with what their runs name."""
    folder = data / "infotabs"
    tables = json.loads((folder / "tables.json").read_text(encoding="utf-8"))
    known = {number: _names_in(table) for number, table in tables.items()}
    sides: tuple[tuple[str, Side], ...] = (("train", "train"), ("dev", "validation"))
    for name, side in sides:
        with (folder / f"infotabs_{name}.tsv").open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                names = known[row["table_id"]]
                for piece in iter_sentences(row["hypothesis"]):
                    kinds = {
                        (start, end): names.get(_form(piece.text[start:end]))
                        for start, end in find_runs(piece.text)
                    }
                    yield from _known("infotabs", side, piece.text, kinds)


def _names_in(table: Mapping[str, list[str]]) -> dict[str, int]:
    """Return what is known of names by a box: of its title, and of what its fields hold."""
    found = dict.fromkeys(_CALENDAR.split(), _NONE)
    for kind, fields in _FIELDS:
        for field in fields.split("|"):
            for value in table.get(field, ()):
                parts = (part.strip() for part in _PART.split(value))
                names = (p for p in parts if p[:1].isupper() and not any(map(str.isdigit, p)))
                found |= {_form(name): kind for name in names}
    of = next((kind for fields, kind in _BOXES if fields & set(table)), None)
    if of is not None:
        title = table["title"][0].strip()
        found[_form(title)] = of
        if of == _PERSON:
            found = {_form(word): of for word in title.split() if word[0].isupper()} | found
    return found


def _form(name: str) -> str:
    bare = name.casefold().removesuffix("'s").removesuffix("’s").removesuffix(".")
    return _ARTICLE.sub("", bare, count=1) if _ARTICLE.match(bare) else bare


def _known(
    source: str, side: Side, sentence: str, kinds: Mapping[tuple[int, int], int | None]
) -> Iterator[NamedRuns]:
    """Yield a sentence with those of its runs of which it is known what they name."""
    there = {run: kind for run, kind in kinds.items() if kind is not None}
    if there:
        yield NamedRuns(source, side, sentence, tuple(there), tuple(there.values()))
