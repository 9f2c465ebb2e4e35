"""Stage 1: short pairs of premise and claim, from entailment sets and claims over tables.

An encoder that was never taught to read a claim against a text stays at chance on long answers; on
short pairs it learns at once. Licences are in README.md, rows to leave out in `exclusions`.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import chain
from pathlib import Path
from typing import Any

from moonlynx.judge.text import content_tokens
from moonlynx.judge.text.flatten import row_text

from .exclusions import load_exclusions
from .items import Item

Exclusions = Mapping[str, frozenset[str]]
_PREMISE_WORDS = 90  # of a table: about 150 tokens
_LABELS = {"entailment": True, "E": True, "SUPPORTS": True}


def load_pairs(root: Path, caps: Mapping[str, int], seed: int) -> list[Item]:
    """Read the sets named in `caps`, at most so many pairs of each, as many supported as not.

    Raises:
        ValueError: a name is not that of a set.
        FileNotFoundError: a set is not at `root`.
    """
    unknown = set(caps) - set(_READERS)
    if unknown:
        raise ValueError(f"no pair set is called {sorted(unknown)}; known: {', '.join(_READERS)}")
    exclusions = load_exclusions(root)
    rng = random.Random(seed)
    pairs: list[Item] = []
    for name, cap in caps.items():
        rows = list(_READERS[name](root, exclusions, rng))
        rng.shuffle(rows)
        for wanted in (True, False):
            pairs += [row for row in rows if row.supported is wanted][: cap // 2]
    rng.shuffle(pairs)
    return pairs


def _pair(
    source: str, premise: str, claim: str, supported: bool, right: str | None = None
) -> Item | None:
    """Make a pair; `right` is a true wording of a wrong claim, to find the wrong words by."""
    premise, claim = " ".join(premise.split()), " ".join(claim.split())
    if len(claim) < 4 or len(premise) < 4:
        return None
    spans = () if supported else changed_words(right, claim) if right else None
    return Item(claim, (premise,), supported, source, spans=spans)


def changed_words(right: str, wrong: str) -> tuple[tuple[int, int], ...] | None:
    """Give the ranges of `wrong` that differ from `right`; None where too much differs to tell."""
    a, b = (list(re.finditer(r"\w+(?:[.,:]\w+)*", text)) for text in (right, wrong))
    blocks = SequenceMatcher(
        None, [m.group().lower() for m in a], [m.group().lower() for m in b], autojunk=False
    ).get_opcodes()
    changed = [(j1, j2) for tag, _, _, j1, j2 in blocks if tag != "equal"]
    count = sum(j2 - j1 for j1, j2 in changed)
    if not 0 < count <= max(3, len(b) // 3):
        return None
    return tuple((b[j1].start(), b[j2 - 1].end()) for j1, j2 in changed if j2 > j1)


def _open(path: Path) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        gzip.open(path) if path.suffix == ".gz" else path.open("rb"), encoding="utf-8-sig"
    )


def _tab_separated(path: Path) -> Iterator[dict[str, str]]:
    with _open(path) as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def _row_key(path: Path) -> str:
    return f"{path.name.removesuffix('.gz')}: row index from 0"


def _nli(name: str) -> Callable[..., Iterator[Item]]:
    def read(root: Path, exclusions: Exclusions, _rng: random.Random) -> Iterator[Item]:
        for path in sorted((root / "nli_small").glob(f"{name}__*")):
            left_out = exclusions.get(f"nli_small/{_row_key(path)}", ())
            with _open(path) as file:
                for index, row in enumerate(csv.DictReader(file)):
                    if str(index) not in left_out:
                        pair = _pair(
                            name, row["premise"], row["hypothesis"], row["label"] == "entailment"
                        )
                        yield from filter(None, [pair])

    return read


def _infotabs(root: Path, _exclusions: Exclusions, rng: random.Random) -> Iterator[Item]:
    folder = root / "infotabs"
    tables = json.loads((folder / "tables.json").read_text(encoding="utf-8"))
    paths = [folder / f"infotabs_{part}.tsv" for part in ("train", "dev")]
    paths += sorted(folder.glob("infotabs_test_*.tsv"))
    for row in chain.from_iterable(_tab_separated(path) for path in paths):
        table = tables[row["table_id"]]
        title = table.get("title", [""])[0]
        lines = [f"{key}: {', '.join(values)}." for key, values in table.items() if key != "title"]
        premise = fit_lines(row["hypothesis"], lines, rng)
        pair = _pair("infotabs", f"{title}. {premise}", row["hypothesis"], row["label"] == "E")
        yield from filter(None, [pair])


def _tabfact(root: Path, exclusions: Exclusions, rng: random.Random) -> Iterator[Item]:
    tables = _tables(root)
    left_out = exclusions.get("tabfact: table name", ())
    for part in ("val", "test"):
        path = root / "tabfact" / f"{part}_examples.json"
        for name, (claims, labels, caption) in json.loads(path.read_text(encoding="utf-8")).items():
            if name in left_out:
                continue
            for claim, label in zip(claims, labels, strict=True):
                premise = fit_lines(claim, tables[name], rng)
                pair = _pair("tabfact", f"{caption}. {premise}", claim, label == 1)
                yield from filter(None, [pair])


def _tabfact_pairs(root: Path, exclusions: Exclusions, rng: random.Random) -> Iterator[Item]:
    tables = _tables(root)
    left_out = exclusions.get("tabfact: table name", ())
    with _open(root / "tabfact" / "all_positive_negative_pairs.json.gz") as file:
        rows = json.load(file)
    for name, right, wrong in rows:
        if name in left_out or name not in tables:
            continue
        premise = fit_lines(f"{right} {wrong}", tables[name], rng)
        yield from filter(
            None,
            [
                _pair("tabfact-pairs", premise, right, True),
                _pair("tabfact-pairs", premise, wrong, False, right),
            ],
        )


def _tables(root: Path) -> dict[str, list[str]]:
    """Give the lines of each table, one a row, with the column's name before each cell."""
    with _open(root / "tabfact" / "tables.json.gz") as file:
        texts: dict[str, str] = json.load(file)
    tables = {}
    for name, text in texts.items():
        names, *rows = (line.split("#") for line in text.splitlines())
        tables[name] = [row_text(names, row) + "." for row in rows if len(row) == len(names)]
    return tables


def fit_lines(claim: str, lines: Sequence[str], rng: random.Random) -> str:
    """Keep the lines that share most words with the claim, and others by lot, in their order."""
    lengths = [len(line.split()) for line in lines]
    wanted = {token.form for token in content_tokens(claim)}
    shared = [len(wanted & {token.form for token in content_tokens(line)}) for line in lines]
    order = sorted(range(len(lines)), key=lambda i: (-shared[i], rng.random()))
    kept, room = set(), _PREMISE_WORDS
    for index in order:
        if lengths[index] <= room:
            kept.add(index)
            room -= lengths[index]
    return " ".join(lines[index] for index in sorted(kept or {order[0]}) if lines) if lines else ""


def _fever(root: Path, exclusions: Exclusions, _rng: random.Random) -> Iterator[Item]:
    for part in ("dev", "test"):
        path = root / "docnli_fever_mctest" / f"binary-FEVER-NLI__{part}.txt.gz"
        left_out = exclusions.get(f"docnli_fever_mctest/{_row_key(path)}", ())
        with _open(path) as file:
            for index, line in enumerate(file):
                label, premise, claim = line.rstrip("\n").split("\t")
                if str(index) not in left_out:
                    pair = _pair("fever", premise, claim, label == "entailment")
                    yield from filter(None, [pair])


def _fever_symmetric(root: Path, _exclusions: Exclusions, _rng: random.Random) -> Iterator[Item]:
    for part in ("dev", "test"):
        with _open(root / "fever_symmetric" / f"fever_symmetric_{part}.jsonl") as file:
            rows = [json.loads(line) for line in file]
        yield from filter(None, (_symmetric(row) for row in rows))


def _symmetric(row: Mapping[str, Any]) -> Item | None:
    claim = row.get("claim") or row["sentence2"]
    premise = row.get("evidence_sentence") or row.get("evidence") or row["sentence1"]
    return _pair("fever-symmetric", premise, claim, row["gold_label"] == "SUPPORTS")


def _conjnli(root: Path, exclusions: Exclusions, _rng: random.Random) -> Iterator[Item]:
    for path in sorted((root / "conjnli").glob("*.tsv*")):
        left_out = exclusions.get(f"conjnli/{_row_key(path)}", ())
        for index, row in enumerate(_tab_separated(path)):
            if str(index) not in left_out:
                supported = _LABELS.get(row["Label"], False)
                premise, claim = row["Premise"], row["Hypothesis"]
                yield from filter(None, [_pair("conjnli", premise, claim, supported, premise)])


def _breaking_nli(root: Path, _exclusions: Exclusions, _rng: random.Random) -> Iterator[Item]:
    with _open(root / "breaking_nli" / "dataset.jsonl.gz") as file:
        rows = [json.loads(line) for line in file]
    for row in rows:
        premise, claim = row["sentence1"], row["sentence2"]
        supported = row["gold_label"] == "entailment"
        yield from filter(None, [_pair("breaking-nli", premise, claim, supported, premise)])


def _monotonicity(root: Path, _exclusions: Exclusions, _rng: random.Random) -> Iterator[Item]:
    columns = {"MED": ("sentence1", "sentence2"), "HELP": ("ori_sentence", "new_sentence")}
    for path in sorted((root / "monotonicity").glob("*.tsv")):
        premise, claim = columns[path.name[:4].rstrip("_.t")]
        for row in _tab_separated(path):
            supported = row["gold_label"] == "entailment"
            yield from filter(None, [_pair("monotonicity", row[premise], row[claim], supported)])


Reader = Callable[[Path, Exclusions, random.Random], Iterable[Item]]
_READERS: dict[str, Reader] = {
    **{name: _nli(name) for name in ("mnli", "snli", "scitail", "sick", "rte")},
    "infotabs": _infotabs,
    "tabfact": _tabfact,
    "tabfact-pairs": _tabfact_pairs,
    "fever": _fever,
    "fever-symmetric": _fever_symmetric,
    "conjnli": _conjnli,
    "breaking-nli": _breaking_nli,
    "monotonicity": _monotonicity,
}
