"""Count what a file of rows holds: sources and labels, lengths, kinds of change, rejections."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

from moonlynx.eval.markdown import table

from .manifest import Manifest, read_manifest
from .records import QARow, read_rows


def describe(path: Path) -> str:
    """Describe a file of rows in Markdown; with the manifest's rejections if it is beside it.

    Raises:
        BadInput: a line is no row.
    """
    rows = read_rows(path)
    manifest = read_manifest(path.parent)
    tables = [_counts(rows), _kinds(rows)]
    if manifest is not None and path.name in manifest.outputs:
        tables.append(_rejections(manifest))
    return "\n\n".join(tables)


def _counts(rows: Sequence[QARow]) -> str:
    by_source: dict[str, list[QARow]] = defaultdict(list)
    for row in rows:
        by_source[row.source].append(row)
    by_source["all"] = list(rows)
    head = ("source", "rows", "PASS", "FAIL", "groups", "context", "question", "answer")
    lines = (_line(name, part) for name, part in by_source.items() if part)
    found = table(head, lines, form="tight")
    return f"{found}\n\nLengths are means, in characters."


def _line(name: str, rows: Sequence[QARow]) -> tuple[object, ...]:
    labels = Counter(row.label for row in rows)
    return (
        name,
        len(rows),
        labels["PASS"],
        labels["FAIL"],
        len({row.group for row in rows}),
        round(mean(sum(map(len, row.context)) for row in rows)),
        round(mean(len(row.question) for row in rows)),
        round(mean(len(row.answer) for row in rows)),
    )


def _kinds(rows: Sequence[QARow]) -> str:
    by_kind: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if row.gold is not None:
            by_kind[row.kind or "not named"][row.source] += 1
    sources = sorted({source for counts in by_kind.values() for source in counts})
    ordered = sorted(by_kind.items(), key=lambda item: -item[1].total())
    return table(
        ("kind of change", "rows", *sources),
        ((kind, counts.total(), *(counts[name] for name in sources)) for kind, counts in ordered),
        form="tight",
    )


def _rejections(manifest: Manifest) -> str:
    found: Mapping[str, Mapping[str, int]] = manifest.rejections
    lines = [(f"{kind}: {why}", n) for kind, counts in found.items() for why, n in counts.items()]
    lines.sort(key=lambda line: -line[1])
    lines += [
        (f"{source.source}: rows that {why}", count)
        for source in manifest.sources
        for why, count in source.left_out.items()
    ]
    return table(("rejected, in the whole build", "times"), lines, form="tight")
