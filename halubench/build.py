"""Build HaluBench, or Lynx's training set, into a folder.

    test.jsonl   test.parquet                                        README.md   manifest.json
    train.jsonl  train.parquet  validation.jsonl  validation.parquet README.md   manifest.json

Every draw follows from the seed and the rows' names, so a build yields the same files again. They
are written one by one, each whole or not at all, the manifest last: a build that was stopped is
finished by the same command. Nothing is dropped silently: what a source lacks is in the
manifest, with the reason.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from moonlynx import __version__
from moonlynx.eval.markdown import table
from moonlynx.judge.contract.types import Example, MoonlynxError
from moonlynx.judge.files.atomic import held, written_whole
from moonlynx.judge.files.stored import sha256_file
from moonlynx.judge.rows import examples as example_files

from .composition import COMPOSITION, Share, scale, with_ragtruth
from .draw import Helpers, draw_source
from .halves import Perturber
from .manifest import MANIFEST, Manifest, Output, Plan, SourceReport, is_complete
from .overlap import Leaks
from .perturb import Rejections
from .records import QARow, has_parquet, write_parquet, write_rows
from .sources import SOURCES

CARD = "README.md"


class BuildError(MoonlynxError):
    """Nothing can be built, or it cannot be written; says what to do."""


def build(
    plan: Plan,
    data: Path | None,
    perturber: Perturber,
    output: Path,
    against: Sequence[Path] = (),
) -> None:
    """Build what the plan asks for, from the Hub without `data`, unless `output` holds it.

    Raises:
        BuildError: a training set without test rows to keep out of it, no source is there, or the
            folder cannot be written.
        SourceError: a source is damaged or of another version.
        InUse: another process is writing to the folder.
        RunMismatch: the folder holds another build.
    """
    if plan.split == "train" and not against:
        raise BuildError(
            "--against: a training set must not share text with test rows; give the files that "
            "hold them, such as the test.jsonl of a benchmark built before"
        )
    try:
        if is_complete(output, plan):
            return
    except OSError as error:
        message = f"cannot be used ({error.strerror or error}); choose another folder"
        raise BuildError(f"--output {output}: {message}") from error
    leaks = Leaks(_examples(against)) if against else None
    parts: dict[str, list[QARow]] = {}
    reports: list[SourceReport] = []
    for name, shares in _by_source(plan).items():
        drawn = draw_source(name, shares, plan, data, Helpers(perturber, leaks))
        reports.append(drawn.report)
        for part in shares:
            parts.setdefault(part, []).extend(drawn.rows.get(part, []))
    if not any(parts.values()):
        place = f"in {data}" if data else "on the Hub"
        raise BuildError(f"none of the sources {', '.join(SOURCES)} was found {place}")
    try:
        with held(output / MANIFEST):
            if not is_complete(output, plan):  # by another process, while this one drew
                _write(output, parts, reports, plan, perturber.rejections)
    except OSError as error:
        message = f"{error.filename or output}: cannot be written ({error.strerror or error})"
        raise BuildError(f"{message}; make room and run the same command again") from error


def hash_against(paths: Iterable[Path]) -> dict[str, str]:
    """Return a plan's `against`.

    Raises:
        BuildError: two files have the same name.
    """
    hashes: dict[str, str] = {}
    for path in paths:
        name = "/".join(path.parts[-2:])
        if name in hashes:
            raise BuildError(f"--against: two files are called {name}; rename one")
        hashes[name] = sha256_file(path)
    return hashes


def _examples(paths: Iterable[Path]) -> Iterator[Example]:
    for path in paths:
        for row in example_files.read_rows(path):
            if not isinstance(row.example, Example):
                raise BuildError(f"--against {path}: {row.example}")
            yield row.example


def _by_source(plan: Plan) -> Mapping[str, Mapping[str, Share]]:
    """Return the shares of each part, source by source in HaluBench's order."""
    shares: dict[str, dict[str, Share]] = defaultdict(dict)
    parts = with_ragtruth(scale(COMPOSITION[plan.split], plan.rows), plan.more_ragtruth)
    for part, of_part in parts.items():
        for share in of_part:
            shares[share.source][part] = share
    return {name: shares[name] for name in SOURCES if name in shares}


def _write(
    output: Path,
    parts: Mapping[str, list[QARow]],
    reports: Sequence[SourceReport],
    plan: Plan,
    rejections: Rejections,
) -> None:
    """Write the files, the manifest last."""
    output.mkdir(parents=True, exist_ok=True)
    (output / MANIFEST).unlink(missing_ok=True)  # of a build whose files have been changed
    outputs: dict[str, Output] = {}
    for part, rows in parts.items():
        names = [f"{part}.jsonl"]
        write_rows(output / names[0], rows)
        if has_parquet():
            names.append(f"{part}.parquet")
            write_parquet(output / names[1], rows)
        for name in names:
            outputs[name] = Output(sha256=sha256_file(output / name), rows=len(rows))
    card = output / CARD
    card.write_text(render_card(plan, reports, outputs), encoding="utf-8")
    outputs[CARD] = Output(sha256=sha256_file(card))
    manifest = Manifest(
        version=__version__,
        plan=plan,
        sources=tuple(reports),
        kinds=_kinds(row for rows in parts.values() for row in rows),
        rejections=_by_kind(rejections),
        outputs=outputs,
    )
    with written_whole(output / MANIFEST) as draft:
        draft.write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")


def _kinds(rows: Iterable[QARow]) -> dict[str, int]:
    return dict(Counter(row.kind or "not named" for row in rows if row.gold is not None))


def _by_kind(rejections: Rejections) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = defaultdict(dict)
    for (kind, reason), count in sorted(rejections.items()):
        nested[kind][reason] = count
    return nested


_TITLES = {
    "test": "HaluBench, rebuilt by moonlynx",
    "train": "Training set of a reasoning judge, built by moonlynx",
}
_USES = {
    "test": "A benchmark: test only. Nothing may be trained on its rows.",
    "train": "For training and validation. No row shares 13 words in a row with the test rows it "
    "was built against.",
}
_COMPOSITION = (
    *("source", "part", "rows", "PASS", "FAIL", "wanted", "wanted FAIL", "licence", "paper"),
)
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))
_TEMPLATE = files(__package__).joinpath("card.md").read_text(encoding="utf-8")


def render_card(plan: Plan, sources: Sequence[SourceReport], outputs: Mapping[str, Output]) -> str:
    """Write the card: YAML front matter that `datasets` loads by, then Markdown."""
    missing = [
        f"- {source.source}, {part.part}: built {part.rows:,} of {part.wanted:,}, missing because "
        f"{part.missing}."
        for source in sources
        for part in source.parts
        if part.missing
    ]
    unchanged = [
        f"{part.unchanged:,} of {source.source}"
        for source in sources
        for part in source.parts
        if part.unchanged
    ]
    kind = "parquet" if any(name.endswith(".parquet") for name in outputs) else "jsonl"
    names = [name for name, output in outputs.items() if name.endswith(kind) and output.rows]
    rows = sum(outputs[name].rows or 0 for name in names)
    return Template(_TEMPLATE).substitute(
        title=_TITLES[plan.split],
        size=next(name for limit, name in _SIZES if rows < limit),
        splits="\n".join(
            f"  - split: {name.removesuffix(f'.{kind}')}\n    path: {name}" for name in names
        ),
        use=_USES[plan.split],
        rows=f"{plan.rows:,}",
        seed=f"seed {plan.seed}, contexts {plan.contexts}, wrong answers by {plan.perturber}",
        composition=composition_table(sources),
        missing="What is missing:\n\n" + "\n".join(missing) + "\n\n" if missing else "",
        unchanged=", ".join(unchanged) or "none here",
    )


def composition_table(sources: Sequence[SourceReport]) -> str:
    """Write what each part holds of each source, in Markdown."""
    lines: list[tuple[object, ...]] = []
    for source in sources:
        licences = ", ".join(source.licences) or "-"
        for part in source.parts:
            half = "as drawn" if part.wanted_fails is None else part.wanted_fails
            counts = (part.rows, part.rows - part.fails, part.fails, part.wanted, half)
            lines.append((source.source, part.part, *counts, licences, source.title))
    parts = [part for source in sources for part in source.parts]
    rows, fails = sum(part.rows for part in parts), sum(part.fails for part in parts)
    wanted = sum(part.wanted for part in parts)
    lines.append(("all", "", rows, rows - fails, fails, wanted, "", "", ""))
    return table(_COMPOSITION, lines, left=(0, 1, 7, 8), form="spaced") + "\n"
