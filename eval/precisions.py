"""One model in several precisions: what each costs, and by how much its verdicts differ.

The judges are one model, the first the reference, as a checkpoint in 32 bits beside itself in 8 and
4 bits and its GGUF files. Each is run in a process of its own, whose peak of memory is then its.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from moonlynx.judge.backends.hub import find_cached, split_revision
from moonlynx.judge.backends.pretrained import has_adapters, read_base
from moonlynx.judge.batch.judging import read_timings, read_verdicts
from moonlynx.judge.contract.spec import JudgeSpec, Spec, parse_spec
from moonlynx.judge.contract.types import MoonlynxError, Verdict
from moonlynx.judge.files.atomic import written_whole

from .benchmarks import Benchmark, BenchmarkError
from .compare import Difference, compare
from .intervals import Interval, Value, wilson
from .markdown import UNDEFINED, table
from .provenance import File, peak_bytes
from .report import Judged
from .run import Settings, judge_benchmark, verdict_file

_Verdicts = tuple[File, list[Verdict]]
_PEAK = ".peak.txt"  # beside verdicts: the most bytes that their process had


class Precision(NamedTuple):
    """One row of the table.

    Attributes:
        unscored: rows without a verdict.
        auroc, balanced_accuracy: in [0, 1], with the difference to the reference.
        agreement: share of rows with the reference's verdict.
        tokens_per_second: read and written, the model's loading aside.
        peak_bytes: of the process that judged; None where the system does not tell.
        file_bytes: of the weights, those under adapters included; None where they are not files
            here.
    """

    spec: str
    unscored: int
    auroc: Difference
    balanced_accuracy: Difference
    agreement: Interval
    tokens_per_second: float | None
    peak_bytes: int | None
    file_bytes: int | None


def judge_apart(
    load: Callable[[], Benchmark], _: Benchmark, spec: Spec, output: Path, how: Settings
) -> Judged:
    """Judge with one judge in a process of its own, and keep its peak of memory in `output`.

    Raises:
        BenchmarkError: the judge cannot be loaded; says why.
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as one:
        return one.submit(_judge, load, spec, output, how).result()


def _judge(load: Callable[[], Benchmark], spec: Spec, output: Path, how: Settings) -> Judged:
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        judged = judge_benchmark(load(), spec, output, how)
    except MoonlynxError as error:  # not all of them can be pickled
        raise BenchmarkError(str(error)) from None
    path = verdict_file(output, str(spec)).with_suffix(_PEAK)
    # A run that resumes may do no more than load the model.
    if peak := max(peak_bytes() or 0, _read_peak(path) or 0):
        with written_whole(path) as draft:
            draft.write_text(f"{peak}\n", encoding="utf-8")
    return judged


def _end_with_parent() -> None:
    """End this process as soon as the one that waits for it is gone, as when that was killed."""
    from multiprocessing import parent_process

    if parent := parent_process():
        parent.join()
        os._exit(1)


def _read_peak(path: Path) -> int | None:
    return int(path.read_text(encoding="utf-8")) if path.exists() else None


def measure(
    benchmark: Benchmark, judges: Sequence[str], output: Path, how: Settings
) -> list[Precision]:
    """Compare the verdicts of each of the judges with those of the first, in their order."""
    specs = [parse_spec(name) for name in judges]
    paths = [verdict_file(output, str(spec)) for spec in specs]
    read = [(File.of(path), list(read_verdicts(path))) for path in paths]
    return [
        _measure(benchmark, spec, path, (own, read[0]), how)
        for spec, path, own in zip(specs, paths, read, strict=True)
    ]


def _measure(
    benchmark: Benchmark, spec: Spec, path: Path, pair: tuple[_Verdicts, _Verdicts], how: Settings
) -> Precision:
    (_, verdicts), (_, others) = pair
    found = compare(benchmark.rows, *pair, resamples=how.resamples, seed=how.seed)
    same = sum(one.score == other.score for one, other in zip(verdicts, others, strict=True))
    tokens = sum(one.usage.input_tokens + one.usage.output_tokens for one in verdicts)
    seconds = sum(read_timings(path.with_suffix(".timings.jsonl")))
    return Precision(
        spec=str(spec),
        unscored=found.unscored_a,
        auroc=found.differences["auroc"],
        balanced_accuracy=found.differences["balanced_accuracy"],
        agreement=wilson(same, len(verdicts)),
        tokens_per_second=tokens / seconds if seconds else None,
        peak_bytes=_read_peak(path.with_suffix(_PEAK)),
        file_bytes=_file_bytes(spec),
    )


def _file_bytes(spec: Spec) -> int | None:
    """Return the size of a judge's weights; None where they are not files here."""
    if not isinstance(spec, JudgeSpec) or spec.model is None or spec.over_network:
        return None
    return _weights_bytes(spec.model)


def _weights_bytes(model: str) -> int | None:
    """Return the size of a file of weights, or of a folder's with those under its adapters."""
    folder = find_cached(model)
    # of a file of the Hub, its path in the folder
    path = folder.joinpath(*split_revision(model)[0].split("/")[2:]) if folder else Path(model)
    if not path.is_dir():
        return path.stat().st_size if path.exists() else None
    own = sum(file.stat().st_size for file in path.glob("*.safetensors"))
    if not has_adapters(path):
        return own
    under = _weights_bytes(read_base(path))
    return None if under is None else own + under


def render(rows: Sequence[Precision], benchmark: Benchmark) -> str:
    """Return the table as Markdown."""
    header = ["judge", "AUROC", "− first", "balanced accuracy", "− first", "same verdict as first"]
    header += ["unscored", "tokens/s", "peak memory, GB", "weights, GB"]
    cells = table(header, (list(_cells(row, rows[0])) for row in rows), form="spaced")
    return (
        f"{len(benchmark.rows):,} rows of {benchmark.about.name}. In percent, with 95 % intervals; "
        f"differences are paired, on the same resamples.\n\n{cells}\n"
    )


def _cells(row: Precision, first: Precision) -> Iterator[object]:
    yield f"`{row.spec}`"
    for metric in (row.auroc, row.balanced_accuracy):
        yield UNDEFINED if metric.a is None else f"{100 * metric.a:.1f}"
        yield UNDEFINED if row is first else _signed(metric.difference)
    share, low, high = (100 * each for each in row.agreement)
    yield f"{share:.1f} [{low:.1f}, {high:.1f}]"
    yield row.unscored
    yield UNDEFINED if row.tokens_per_second is None else f"{row.tokens_per_second:,.0f}"
    for size in (row.peak_bytes, row.file_bytes):
        yield UNDEFINED if size is None else f"{size / 1e9:.2f}"


def _signed(value: Value) -> str:
    if value.value is None or value.low is None or value.high is None:
        return UNDEFINED
    return f"{100 * value.value:+.1f} [{100 * value.low:+.1f}, {100 * value.high:+.1f}]"
