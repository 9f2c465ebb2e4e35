"""Draw a source's rows for each part of a set: by seed, whole groups on one side."""

import hashlib
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path

from .composition import COMPOSITION, Share
from .halves import Perturber, make_halves
from .manifest import PartReport, Plan, SourceReport
from .overlap import Leaks, NearDuplicates
from .records import QARow
from .sources import SOURCES, Source, SourceMissing, read_source

# Why a row is left out, as said of several.
_DUPLICATE = "were almost the same as another"
_LEAK = "share 13 words in a row with a test row"
_UNCHANGED = "could not be made wrong"


@dataclass(frozen=True)
class Helpers:
    """What perturbs answers, and what knows the test rows (None while they are built)."""

    perturber: Perturber
    leaks: Leaks | None


@dataclass(frozen=True)
class Drawn:
    """Rows by part, and what became of their source."""

    rows: Mapping[str, list[QARow]]
    report: SourceReport


def draw_source(
    name: str, shares: Mapping[str, Share], plan: Plan, data: Path | None, helpers: Helpers
) -> Drawn:
    """Draw the rows of a source for each part, from the Hub without `data`.

    Raises:
        SourceError: the source is there, but cannot be read.
    """
    source = SOURCES[name]
    try:
        rows = read_source(source, plan.split, data)
    except SourceMissing as error:
        parts = tuple(_absent(part, share, str(error)) for part, share in shares.items())
        return Drawn({}, _report(source, [], Counter(), parts))
    pool = _Pool(source, plan, rows, helpers)
    drawn = {part: pool.draw(part, share) for part, share in shares.items()}
    reports = tuple(report for _, report in drawn.values())
    return Drawn(
        {part: rows for part, (rows, _) in drawn.items()},
        _report(source, rows, pool.left_out, reports),
    )


class _Pool:
    """A source's rows, in the order of the draw."""

    def __init__(self, source: Source, plan: Plan, rows: Iterable[QARow], helpers: Helpers) -> None:
        self._source = source
        self._plan = plan
        self._helpers = helpers
        self._rows = sorted(rows, key=lambda row: _chance(plan.seed, row.id))
        self._seen = NearDuplicates()
        self.left_out: Counter[str] = Counter()

    def draw(self, part: str, share: Share) -> tuple[list[QARow], PartReport]:
        """Draw a part's rows."""
        left_out: Counter[str] = Counter()
        usable = self._usable(part, left_out)
        unchanged = 0
        if not self._source.labelled:
            assert share.fails is not None
            passes = share.rows - share.fails
            halves = make_halves(usable, passes, share.fails, self._helpers.perturber)
            rows, unchanged = halves.rows, halves.unchanged
            left_out[_UNCHANGED] = halves.failed
        elif share.fails is None:
            rows = list(islice(usable, share.rows))
        else:
            found = list(usable) if share.more else usable
            rows = _take(found, {"PASS": share.rows - share.fails, "FAIL": share.fails})
            taken = {row.id for row in rows}
            rows += islice((row for row in found if row.id not in taken), share.more)
        rows.sort(key=lambda row: _chance(self._plan.seed, row.id))
        fails = sum(row.label == "FAIL" for row in rows)
        report = PartReport(
            part=part,
            wanted=share.wanted,
            wanted_fails=share.wanted_fails,
            rows=len(rows),
            fails=fails,
            unchanged=unchanged,
            missing=self._why(part, share, (len(rows), fails), left_out),
        )
        left_out[_UNCHANGED] -= unchanged
        self.left_out += left_out
        return [self._shown(row) for row in rows], report

    def _usable(self, part: str, left_out: Counter[str]) -> Iterator[QARow]:
        """Yield a part's usable rows; the others are counted as they come up."""
        # Published labels have numbers published for them: no row of theirs is left out.
        as_published = self._plan.split == "test" and self._source.labelled
        for row in self._rows:
            if _part_of(row.group, self._plan) != part:
                continue
            if self._helpers.leaks is not None and self._helpers.leaks.hold(row):
                left_out[_LEAK] += 1
            elif not as_published and not self._seen.add(row):
                left_out[_DUPLICATE] += 1
            else:
                yield row

    def _shown(self, row: QARow) -> QARow:
        if self._plan.contexts == "excerpt" and row.excerpt is not None:
            return row.model_copy(update={"context": row.excerpt, "excerpt": None})
        return row

    def _why(
        self, part: str, share: Share, built: tuple[int, int], left_out: Counter[str]
    ) -> str | None:
        """Return why there are fewer rows than wanted; `built` is rows and FAIL rows."""
        rows, fails = built
        if rows >= share.wanted:
            return None
        there = sum(_part_of(row.group, self._plan) == part for row in self._rows)
        reasons = [f"there are {there:,} rows of {self._source.name} to draw from"]
        if (wanted := share.wanted_fails) is not None and self._source.labelled:
            found = f"{rows - fails} of {share.rows - wanted} PASS"
            reasons.append(f"{found} and {fails} of {wanted} FAIL rows were found")
        reasons += [f"{count:,} of them {why}" for why, count in left_out.items() if count]
        if self._source.note:
            reasons.append(self._source.note)
        return "; ".join(reasons)


def _take(rows: Iterable[QARow], wanted: Mapping[str, int]) -> list[QARow]:
    """Take rows until there are enough of every label."""
    left = Counter(wanted)
    taken = []
    for row in rows:
        assert row.label is not None
        if left[row.label] > 0:
            left[row.label] -= 1
            taken.append(row)
        if not left.total():
            break
    return taken


def _absent(part: str, share: Share, why: str) -> PartReport:
    return PartReport(
        part=part,
        wanted=share.wanted,
        wanted_fails=share.wanted_fails,
        rows=0,
        fails=0,
        missing=why,
    )


def _report(
    source: Source, rows: list[QARow], left_out: Counter[str], parts: tuple[PartReport, ...]
) -> SourceReport:
    origins = [row.provenance for row in rows]
    return SourceReport(
        source=source.name,
        title=source.title,
        files={origin.file: origin.sha256 for origin in origins},
        licences=tuple(sorted({origin.licence for origin in origins})),
        revisions=tuple(sorted({origin.revision for origin in origins if origin.revision})),
        read=len(rows),
        left_out=dict(left_out),
        parts=parts,
    )


def _part_of(group: str, plan: Plan) -> str:
    """Return the part that a group falls to, the same for every number of rows."""
    sizes = {
        part: sum(share.rows for share in shares)
        for part, shares in COMPOSITION[plan.split].items()
    }
    bounds = list(accumulate(sizes.values()))
    return list(sizes)[bisect(bounds, _chance(plan.seed, f"part:{group}") * bounds[-1])]


def _chance(seed: int, name: str) -> float:
    """Derive a number in [0, 1) from a name alone, so that no row moves another's place."""
    digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    return int.from_bytes(digest[:8]) / 2**64
