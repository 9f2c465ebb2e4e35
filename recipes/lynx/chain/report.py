"""What a chain showed: `report.json` and `report.md` in its folder, from the files of its steps."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from moonlynx import __version__
from moonlynx.eval.markdown import table
from moonlynx.eval.provenance import git_commit
from moonlynx.halubench.manifest import Manifest, read_manifest
from moonlynx.halubench.rows import read_rows
from moonlynx.judge.batch.judging import read_verdicts
from moonlynx.judge.contract.spec import JudgeSpec, parse_spec
from moonlynx.judge.contract.types import (
    Count,
    Example,
    Finite,
    MoonlynxError,
    Record,
    Score,
    Verdict,
)
from moonlynx.judge.rows.examples import read_rows as read_examples

from ...chat.record import RECORD_FILE, read_record
from ..parsability import Parsability
from .rows import LEARNED, UNSEEN

REPORT = "report.json"
# Of the chain's folder; `run_all.sh` gives these names to its steps.
RUNS = ("tuned", "shuffled", "qlora")
BEFORE, AFTER = "free-before.json", "free-after.json"
ROWS, EVALUATED = "rows", "eval"
LEARNED_FILE, SHUFFLED_FILE, JUDGED_FILE = "learned.jsonl", "shuffled.jsonl", "judged.jsonl"
_OWN_LABELS = f"shuffled, {LEARNED}, by the labels it was given"
_WANTED = (
    (f"tuned, {LEARNED}", (0.95, 1.0), "at least 95 % right"),
    (_OWN_LABELS, (0.95, 1.0), "at least 95 % right"),
    (f"shuffled, {LEARNED}", (0.4, 0.6), "chance"),
)


class ChainError(MoonlynxError):
    """A step's file is missing or not whole; names it."""


class Loss(Record):
    """A training run, with the training loss of its first and last step."""

    rows: Count
    too_long: Count
    steps: Count
    seconds: Finite
    first: Finite
    last: Finite


class Right(Record):
    """How a judge's verdicts compare with labels; an unscored row is not right."""

    rows: Count
    right: Count
    unscored: Count


class Check(Record):
    """What the chain is to show, what it showed, and whether that is enough."""

    what: str
    found: str
    met: bool


class ChainReport(Record):
    """All of `report.json`: training by run, and free decoding of the base and of the tuned model.

    `judged` compares verdicts of the vLLM engine with labels; it is empty where no rows were
    learned by heart, since the evaluation has a report of its own then.
    """

    package_version: str
    git_commit: str | None
    date: datetime.date
    built: dict[str, Count]
    rejections: Count
    training: dict[str, Loss]
    before: Parsability
    after: Parsability
    judged: dict[str, Right]
    checks: tuple[Check, ...]


def build_report(folder: Path) -> ChainReport:
    """Read what the steps left in the chain's folder.

    Raises:
        ChainError: a step's file is missing or not whole.
    """
    manifest = read_manifest(folder / "train")
    if manifest is None:
        raise ChainError(f"{folder / 'train'}: holds no whole build; run the chain again")
    training = {
        run: _read_loss(folder / run) for run in RUNS if (folder / run / RECORD_FILE).exists()
    }
    before, after = (
        Parsability.model_validate_json(_read(folder / name)) for name in (BEFORE, AFTER)
    )
    judged = dict(_read_judged(folder)) if (folder / ROWS).is_dir() else {}
    return ChainReport(
        package_version=__version__,
        git_commit=git_commit(),
        date=datetime.date.today(),
        built=_built(manifest),
        rejections=sum(count for kind in manifest.rejections.values() for count in kind.values()),
        training=training,
        before=before,
        after=after,
        judged=judged,
        checks=tuple(_checks(training, before, after, judged)),
    )


def _built(manifest: Manifest) -> dict[str, int]:
    return {source.source: sum(part.rows for part in source.parts) for source in manifest.sources}


def _read_loss(folder: Path) -> Loss:
    done = read_record(folder)
    return Loss(
        rows=done.rows,
        too_long=done.too_long,
        steps=done.steps,
        seconds=done.seconds,
        first=done.losses[0],
        last=done.losses[-1],
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ChainError(f"{path}: {error.strerror}; run the chain again") from None


def _read_judged(folder: Path) -> Iterator[tuple[str, Right]]:
    """Yield each judge's verdicts compared with the labels, and the control's with its own."""
    labels: dict[str, Score | None] = {}
    for row in read_examples(folder / ROWS / JUDGED_FILE):
        assert isinstance(row.example, Example)
        labels[str(row.id)] = row.example.label
    learned = {f"{LEARNED}/{row.id}": row.label for row in read_rows(folder / ROWS / SHUFFLED_FILE)}
    for judge in json.loads(_read(folder / EVALUATED / "report.json"))["judges"]:
        spec = parse_spec(judge["spec"])
        assert isinstance(spec, JudgeSpec)
        run = Path(spec.model or "").parent.name
        verdicts = list(read_verdicts(folder / EVALUATED / judge["verdicts"]["path"]))
        for subset in (LEARNED, UNSEEN):
            of_subset = {name: label for name, label in labels.items() if name.startswith(subset)}
            yield f"{run}, {subset}", _compare(verdicts, of_subset)
        if run == "shuffled":
            yield _OWN_LABELS, _compare(verdicts, learned)


def _compare(verdicts: Iterable[Verdict], labels: Mapping[str, Score | None]) -> Right:
    found = [verdict for verdict in verdicts if str(verdict.id) in labels]
    return Right(
        rows=len(found),
        right=sum(verdict.score == labels[str(verdict.id)] for verdict in found),
        unscored=sum(verdict.score is None for verdict in found),
    )


def _checks(
    training: Mapping[str, Loss],
    before: Parsability,
    after: Parsability,
    judged: Mapping[str, Right],
) -> Iterator[Check]:
    """Yield what the chain is to show, and whether it did."""
    for run, loss in training.items():
        found = f"{loss.first:.3f} to {loss.last:.3f}"
        yield Check(what=f"{run}: the loss falls", found=found, met=loss.last < loss.first)
    yield Check(
        what="tuned: more replies are valid JSON under free decoding",
        found=f"{before.valid} to {after.valid} of {after.rows}",
        met=after.valid * before.rows > before.valid * after.rows,
    )
    for name, (least, most), what in _WANTED:
        if name in judged:
            right = judged[name]
            yield Check(
                what=f"{name}: {what}",
                found=f"{right.right} of {right.rows}",
                met=least <= right.right / right.rows <= most,
            )


def write_report(report: ChainReport, folder: Path) -> None:
    """Write `report.md` and, last, `report.json`."""
    (folder / "report.md").write_text(render(report), encoding="utf-8")
    text = report.model_dump_json(indent=2) + "\n"
    (folder / REPORT).write_text(text, encoding="utf-8")


def render(report: ChainReport) -> str:
    """Return the report as Markdown."""
    built = ", ".join(f"{name} {rows:,}" for name, rows in report.built.items())
    free = [
        [when, each.rows, each.valid, each.readable, each.right, _faults(each)]
        for when, each in (("before", report.before), ("after", report.after))
    ]
    losses = [
        [run, each.rows, each.too_long, each.steps, f"{each.first:.3f}", f"{each.last:.3f}"]
        for run, each in report.training.items()
    ]
    judged = [
        [name, each.rows, each.right, f"{each.right / each.rows:.1%}", each.unscored]
        for name, each in report.judged.items()
    ]
    sections = [
        "# Lynx, from data to judge",
        f"{report.date.isoformat()}, moonlynx {report.package_version}, commit "
        f"{report.git_commit or 'not known'}. Rows built to train on: {built}; changes refused on "
        f"the way: {report.rejections:,}.",
        _table(
            ["to show", "found", ""],
            [[each.what, each.found, "yes" if each.met else "NO"] for each in report.checks],
        ),
        "## Training",
        _table(["run", "rows", "too long", "steps", "first loss", "last loss"], losses),
        "## Free decoding, without a schema",
        _table(["model", "rows", "valid JSON", "readable", "right", "faults"], free),
    ]
    if judged:
        sections += [
            "## Judged by vLLM, under the schema",
            _table(["judge, rows", "rows", "right", "share", "unscored"], judged),
        ]
    return "\n\n".join(sections) + "\n"


def _faults(counted: Parsability) -> str:
    return ", ".join(f"{code} {count}" for code, count in counted.faults.items()) or "none"


def _table(header: list[str], rows: Iterable[Sequence[object]]) -> str:
    lines = (list(map(str, row)) for row in rows)
    return table(header, lines, left=range(len(header)), form="spaced")
