"""The sets of premise and claim pairs, each read into one form.

Licences are in README.md, rows to leave out in `exclusions`.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from moonlynx.halubench.perturb import Kind, perturb
from moonlynx.judge.text import forms_of, split_sentences
from moonlynx.judge.text.rows import row_text

from .answers.base import Exclusions, open_text, read_csv, read_json, read_lines, read_tsv
from .exclusions import DataNotFound

Row = TypeVar("Row")
Label = Literal["supported", "contradicted", "not_mentioned", "unsupported"]
_PREMISE_WORDS = 90  # of a table: about 150 tokens
_EVIDENCE_WORDS = 130  # of a document that is not cut: about 170 tokens
_CHANGED = 20_000  # claims of a set that a change is looked for in, at most
_COPIED = 0.25  # share of them that is copied out of the premise
_FACTS: tuple[Kind, ...] = ("number", "date", "unit", "entity", "comparative", "quantifier")
_THREE: Mapping[str, Label] = {  # classes as the sets write them
    "entailment": "supported",
    "E": "supported",
    "neutral": "not_mentioned",
    "N": "not_mentioned",
    "contradiction": "contradicted",
    "C": "contradicted",
}


class Pair(NamedTuple):
    """A pair as a set has it."""

    # the text, or what makes it: that of a table is made of those pairs that are taken
    premise: str | Callable[[], str]
    claim: str
    label: Label  # "unsupported" where the set does not tell contradicted from not mentioned
    right: str | None = None  # a true wording of a wrong claim, to find its errors by


def _told(supported: bool) -> Label:
    """Return the label of a set whose wrong claims all say otherwise than their premise."""
    return "supported" if supported else "contradicted"


def _find(folder: Path, pattern: str) -> list[Path]:
    paths = sorted(folder.glob(pattern))
    if not paths:
        raise DataNotFound(folder / pattern)
    return paths


def _kept(rows: Iterable[Row], path: Path, exclusions: Exclusions) -> Iterator[Row]:
    """Yield the rows of a file without those to leave out, by their number from 0."""
    name = path.name.removesuffix(".gz")
    left_out = exclusions.get(f"{path.parent.name}/{name}: row index from 0", frozenset())
    return (row for index, row in enumerate(rows) if str(index) not in left_out)


def _nli(name: str, root: Path, exclusions: Exclusions, _rng: random.Random) -> Iterator[Pair]:
    for path in _find(root / "nli_small", f"{name}__*"):
        for row in _kept(read_csv(path), path, exclusions):
            label = _THREE.get(row["label"], "unsupported")
            yield Pair(row["premise"], row["hypothesis"], label)


def _infotabs(root: Path, _exclusions: Exclusions, rng: random.Random) -> Iterator[Pair]:
    folder = root / "infotabs"
    tables = read_json(folder / "tables.json")
    names = ("infotabs_train.tsv", "infotabs_dev.tsv", "infotabs_test_*.tsv")
    for path in (path for name in names for path in _find(folder, name)):
        for row in read_tsv(path):
            table = tables[row["table_id"]]
            title = table.get("title", [""])[0]
            lines = [f"{key}: {', '.join(v)}." for key, v in table.items() if key != "title"]
            claim = row["hypothesis"]
            yield Pair(partial(fit_lines, claim, lines, rng, title), claim, _THREE[row["label"]])


def _tabfact(root: Path, exclusions: Exclusions, rng: random.Random) -> Iterator[Pair]:
    tables = _tables(root)
    left_out = exclusions.get("tabfact: table name", frozenset())
    for part in ("val", "test"):
        rows = read_json(root / "tabfact" / f"{part}_examples.json")
        for name, (claims, labels, caption) in rows.items():
            if name in left_out:
                continue
            for claim, label in zip(claims, labels, strict=True):
                premise = partial(fit_lines, claim, tables[name], rng, caption)
                yield Pair(premise, claim, _told(label == 1))


def _tabfact_pairs(root: Path, exclusions: Exclusions, rng: random.Random) -> Iterator[Pair]:
    tables = _tables(root)
    left_out = exclusions.get("tabfact: table name", frozenset())
    for name, right, wrong in read_json(root / "tabfact" / "all_positive_negative_pairs.json.gz"):
        if name not in left_out and name in tables:
            premise = partial(fit_lines, f"{right} {wrong}", tables[name], rng)
            yield Pair(premise, right, "supported")
            yield Pair(premise, wrong, "contradicted", right)


def _tables(root: Path) -> dict[str, list[str]]:
    """Return the lines of each table, one a row, with the column's name before each cell."""
    tables = {}
    for name, text in read_json(root / "tabfact" / "tables.json.gz").items():
        names, *rows = (line.split("#") for line in text.splitlines())
        tables[name] = [row_text(names, row) + "." for row in rows if len(row) == len(names)]
    return tables


def fit_lines(claim: str, lines: Sequence[str], rng: random.Random, title: str = "") -> str:
    """Keep the lines that share most words with the claim, and others at random, in their order.

    The best one is kept however long it is.
    """
    lengths = [len(line.split()) for line in lines]
    wanted, *forms = map(forms_of, (claim, *lines))
    order = sorted(range(len(lines)), key=lambda i: (-len(wanted & forms[i]), rng.random()))
    kept, room = set[int](), _PREMISE_WORDS
    for index in order:
        if lengths[index] <= room or not kept:
            kept.add(index)
            room -= lengths[index]
    return " ".join([f"{title}."] * bool(title) + [lines[index] for index in sorted(kept)])


def _fever(root: Path, exclusions: Exclusions, _rng: random.Random) -> Iterator[Pair]:
    for part in ("dev", "test"):
        path = root / "docnli_fever_mctest" / f"binary-FEVER-NLI__{part}.txt.gz"
        with open_text(path, newline=None) as file:
            for line in _kept(file, path, exclusions):
                label, premise, claim = line.rstrip("\n").split("\t")
                yield Pair(premise, claim, _THREE.get(label, "unsupported"))


def _fever_symmetric(root: Path, _exclusions: Exclusions, _rng: random.Random) -> Iterator[Pair]:
    for part in ("dev", "test"):
        for row in read_lines(root / "fever_symmetric" / f"fever_symmetric_{part}.jsonl"):
            yield Pair(row["evidence"], row["claim"], _told(row["gold_label"] == "SUPPORTS"))


def _conjnli(root: Path, exclusions: Exclusions, _rng: random.Random) -> Iterator[Pair]:
    for path in _find(root / "conjnli", "*.tsv*"):
        for row in _kept(read_tsv(path), path, exclusions):
            premise, claim = row["Premise"], row["Hypothesis"]
            yield Pair(premise, claim, _THREE[row["Label"]], premise)


def _breaking_nli(root: Path, _exclusions: Exclusions, _rng: random.Random) -> Iterator[Pair]:
    """Read each pair both ways round, and a sentence with a wrong word against itself as well.

    The set's own claims tell their label by themselves: each wrong one names what no premise does.
    """
    for row in read_lines(root / "breaking_nli" / "dataset.jsonl.gz"):
        if row["gold_label"] == "neutral":
            continue  # the other way round it may be entailment
        sentences = row["sentence1"], row["sentence2"]
        supported = row["gold_label"] == "entailment"
        for premise, claim in (sentences, sentences[::-1]):
            yield Pair(premise, claim, _told(supported), premise)
            if not supported:
                yield Pair(claim, claim, "supported")


def _monotonicity(root: Path, _exclusions: Exclusions, _rng: random.Random) -> Iterator[Pair]:
    columns = {"MED": ("sentence1", "sentence2"), "HELP": ("ori_sentence", "new_sentence")}
    for prefix, (premise, claim) in columns.items():
        for path in _find(root / "monotonicity", f"{prefix}*.tsv"):
            for row in read_tsv(path):
                entailed = row["gold_label"] == "entailment"  # "neutral" may contradict here
                yield Pair(row[premise], row[claim], "supported" if entailed else "unsupported")


def _changed(base: str, root: Path, exclusions: Exclusions, rng: random.Random) -> Iterator[Pair]:
    """Yield right claims of a set, and sentences of its premises, each beside a changed one.

    Nothing in a claim by itself can tell which of the two it is.
    """
    pairs = [pair for pair in PAIR_SETS[base](root, exclusions, rng) if pair.label == "supported"]
    for pair in rng.sample(pairs, min(_CHANGED, len(pairs))):
        premise = pair.premise if isinstance(pair.premise, str) else pair.premise()
        claim = pair.claim
        if rng.random() < _COPIED:
            claim = rng.choice(split_sentences(premise)).text
        if change := perturb(claim, (premise,), rng, _FACTS):
            yield Pair(premise, claim, "supported")
            yield Pair(premise, change.text, "contradicted", claim)


def _cf_snli(root: Path, _exclusions: Exclusions, _rng: random.Random) -> Iterator[Pair]:
    for path in _find(root / "cf_snli", "*.tsv"):
        for row in read_tsv(path):
            yield Pair(row["sentence1"], row["sentence2"], _THREE[row["gold_label"]])


def _mnli_slice(root: Path, _exclusions: Exclusions, _rng: random.Random) -> Iterator[Pair]:
    for row in read_json(root / "mnli_slice" / "train.json"):
        premise, claim = row["sentence"].split("\nsentence 2: ", 1)
        yield Pair(premise.removeprefix("sentence 1: "), claim, _THREE[row["label"]])


def _fool_me_twice(root: Path, exclusions: Exclusions, _rng: random.Random) -> Iterator[Pair]:
    for part in ("dev", "test"):
        left_out = exclusions.get(f"fool_me_twice/{part}.jsonl: id", frozenset())
        for row in read_lines(root / "fool_me_twice" / f"{part}.jsonl"):
            if row["id"] not in left_out:
                evidence = " ".join(piece["text"] for piece in row["gold_evidence"])
                yield Pair(evidence, row["text"], _told(row["label"] == "SUPPORTS"))


def _factcg(root: Path, exclusions: Exclusions, _rng: random.Random) -> Iterator[Pair]:
    """Read claims over a document with, and without, what supports them."""
    path = root / "factcg_cg2c_doc" / "CG2C_doc.jsonl.gz"
    for row in _kept(read_lines(path), path, exclusions):
        if len(row["text_a"].split()) <= _EVIDENCE_WORDS:
            label: Label = "supported" if row["orig_label"] == 1 else "not_mentioned"
            yield Pair(row["text_a"], row["text_b"][0], label)


def _factcheck_gpt(root: Path, exclusions: Exclusions, _rng: random.Random) -> Iterator[Pair]:
    """Read claims with what was found on the web; support in part is left out."""
    labels: Mapping[str, Label] = {
        "completely-support": "supported",
        "refute": "contradicted",
        "irrelevant": "not_mentioned",
    }
    path = root / "factcheck_gpt" / "subtask3_claim_evidence_stance.jsonl.gz"
    for row in _kept(read_lines(path), path, exclusions):
        short = len(row["evidence"].split()) <= _EVIDENCE_WORDS
        if row["stance"] in labels and short:
            yield Pair(row["evidence"], row["claim"], labels[row["stance"]])


Reader = Callable[[Path, Exclusions, random.Random], Iterator[Pair]]
PAIR_SETS: dict[str, Reader] = {
    **{name: partial(_nli, name) for name in ("mnli", "snli", "scitail")},
    "infotabs": _infotabs,
    "tabfact": _tabfact,
    "tabfact-pairs": _tabfact_pairs,
    "fever": _fever,
    "fever-symmetric": _fever_symmetric,
    "conjnli": _conjnli,
    "cf-snli": _cf_snli,
    "mnli-slice": _mnli_slice,
    "fool-me-twice": _fool_me_twice,
    "factcg": _factcg,
    "factcheck-gpt": _factcheck_gpt,
    "breaking-nli": _breaking_nli,
    "monotonicity": _monotonicity,
    **{f"{name}-changed": partial(_changed, name) for name in ("mnli", "fever", "infotabs")},
}
