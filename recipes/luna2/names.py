"""The tagger of pii: which runs of capitalised words name a person, a place or an organisation.

Presidio's rows say it of invented names in templates. Of names that are real, InfoTabS says it: a
hypothesis names what its info box is of, or what stands in one of its fields. A run that neither
knows is left out.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.metrics.encoder.features import FeatureReader
from moonlynx.judge.metrics.encoder.head import NAMES, StateWeights, pack
from moonlynx.judge.metrics.encoder.pii import find_runs
from moonlynx.judge.text import iter_sentences

from ..data.answers.base import read_json, read_tsv
from .data.rows import Side
from .data.texts import KINDS, presidio

_NONE, _PERSON, _PLACE, _ORGANISATION = range(1 + len(NAMES))
_WEIGHTS = {"presidio": 2.0, "infotabs": 1.0}  # of a run: Presidio has fewer
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
_ARTICLE = re.compile(r"^(?:the|an?) ")


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

    rows = [*read_presidio(data), *read_boxes(data)]
    read = {
        key: _read(reader, [row for row in rows if (row.source, row.side) == key])
        for key in sorted({(row.source, row.side) for row in rows if row.side != "test"})
    }
    training = {source: table for (source, side), table in read.items() if side == "train"}
    numbers, kinds = map(np.concatenate, zip(*training.values(), strict=True))
    weights = np.repeat(
        [_WEIGHTS[source] for source in training], [len(y) for _, y in training.values()]
    )
    scaler = StandardScaler().fit(numbers)
    numbers = scaler.transform(numbers)
    held = [(scaler.transform(x), y) for (_, side), (x, y) in read.items() if side == "validation"]

    def loss(model: Any) -> float:
        losses = [log_loss(y, model.predict_proba(x), labels=model.classes_) for x, y in held]
        return float(np.mean(losses))

    models = [
        LogisticRegression(C=strength, max_iter=_STEPS).fit(numbers, kinds, sample_weight=weights)
        for strength in _STRENGTHS
    ]
    model = min(models, key=loss)
    folded = model.coef_ / scaler.scale_
    bias = model.intercept_ - folded @ scaler.mean_
    return StateWeights(weights=pack(folded.astype(np.float16)), bias=tuple(map(float, bias)))


def _read(
    reader: FeatureReader, rows: Iterable[NamedRuns]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the numbers of the rows' runs, shape (runs, n), and what they name, shape (runs,)."""
    numbers, kinds = [], []
    for row in rows:
        named = dict(zip(row.runs, row.kinds, strict=True))
        there, found, _ = reader.read_runs(row.sentence, row.runs)
        numbers.append(found)
        kinds += [named[run] for run in there]
    return np.concatenate(numbers), np.array(kinds, dtype=np.int64)


def read_presidio(data: Path) -> Iterator[NamedRuns]:
    """Read Presidio's sentences with what their runs name."""
    for row in presidio(data):
        spans = row.fields["spans"]
        yield from _named("presidio", row.side, row.fields["full_text"], partial(_of_spans, spans))


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
    tables = read_json(folder / "tables.json")
    known = {number: _names_in(table) for number, table in tables.items()}
    sides: tuple[tuple[str, Side], ...] = (("train", "train"), ("dev", "validation"))
    for name, side in sides:
        for row in read_tsv(folder / f"infotabs_{name}.tsv"):
            names, text = known[row["table_id"]], row["hypothesis"]
            yield from _named("infotabs", side, text, partial(_of_box, names, text))


def _of_box(names: Mapping[str, int], text: str, start: int, end: int) -> int | None:
    return names.get(_form(text[start:end]))


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
    return _ARTICLE.sub("", bare)


def _named(
    source: str, side: Side, text: str, kind_of: Callable[[int, int], int | None]
) -> Iterator[NamedRuns]:
    """Yield a text's sentences with those of their runs of which it is known what they name."""
    for piece in iter_sentences(text):
        runs = find_runs(piece.text)
        kinds = {run: kind_of(piece.start + run[0], piece.start + run[1]) for run in runs}
        there = {run: kind for run, kind in kinds.items() if kind is not None}
        if there:
            yield NamedRuns(source, side, piece.text, tuple(there), tuple(there.values()))
