"""Judge a file of rows on a Ray cluster: `moonlynx judge --engine ray`.

Ray Data sends partitions of the input to a pool of workers, and reassigns those of a lost one. Only
this process writes; so each partition is written once, however often it was judged.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.backends.options import finite, read_options, whole
from moonlynx.judge.batch.judging import Tally, identify, judge_batch, to_line
from moonlynx.judge.contract.spec import JudgeSpec, Spec
from moonlynx.judge.contract.types import BadInput, MoonlynxError
from moonlynx.judge.files.atomic import held
from moonlynx.judge.registry import load_judge
from moonlynx.judge.rows.examples import Row
from moonlynx.judge.rows.fields import AS_NAMED, FieldMap
from moonlynx.judge.terminal.progress import progress_bar

from ..queue.turns import characters
from . import llm
from .manifest import Manifest, Run
from .partitions import Partition, Plan, locate, plan, read_partition

if TYPE_CHECKING:
    from ray.data import Dataset

_CHARACTERS = 4  # of a token, about: every judge has a tokenizer of its own


@dataclass(frozen=True)
class Workers:
    """How the work is spread."""

    workers: int | None = None  # most workers at once; None: one for each processor of the cluster
    gpus: float = 0.0  # GPUs of each worker; a fraction shares one
    partition_rows: int = 1_000  # rows of a partition, which is what a killed run may judge again
    batch_tokens: int = 8_192  # tokens of text judged at once, about; a longer row goes alone

    @classmethod
    def read(cls, options: Mapping[str, str]) -> Workers:
        """Read `--engine ray?workers=8&gpus=1&partition-rows=500&batch-tokens=4096`."""
        readers: dict[str, Callable[[str], object]] = {
            "workers": whole(1),
            "gpus": finite,
            "partition-rows": whole(1),
            "batch-tokens": whole(1),
        }
        values = read_options("ray", options, readers)
        return cls(**{name.replace("-", "_"): value for name, value in values.items()})


def judge_on_ray(
    spec: Spec,
    source: str,
    output: str,
    options: Mapping[str, str],
    address: str | None = None,
    fields: FieldMap = AS_NAMED,
) -> Tally:
    """Write one verdict per row of `source`, in its order; resume where a run stopped.

    The verdicts are those of a run on one machine, byte for byte. Finished partitions are in
    `OUTPUT.parts` until the last one is done; then `output` is put together from them. Both are
    paths, or fsspec URLs that every node can read, of .jsonl or .parquet files. moonlynx and the
    judge's files must be on every node; `options` are the fields of `Workers`, as text.

    Raises:
        BadInput: a file is of another kind.
        InUse, RunMismatch: the output is being written, or belongs to another run.
        ClusterError: the cluster cannot be reached, or the judge cannot run on it; says why.
    """
    workers = Workers.read(options)
    if not output.endswith((".jsonl", ".parquet")):
        raise BadInput("bad_input", output, "verdicts are written as .jsonl or .parquet")
    source, output = _absolute(source), _absolute(output)
    planned = plan(source, workers.partition_rows)
    with _held(output), connected(address) as ray, faults_named():
        judging: llm.Engine | _Pool
        if isinstance(spec, JudgeSpec) and llm.takes(spec):
            judging = llm.Engine(spec, workers.workers, workers.gpus)
        else:
            judging = _Pool(ray, spec, workers)
        run = Run(
            input_sha256=planned.sha256,
            rows=planned.rows,
            partition_rows=workers.partition_rows,
            spec=str(spec),
            **fields.stated(),
            **judging.identity(),
        )
        manifest = Manifest(output, run)
        todo = [one for one in planned.partitions if one.number not in manifest.done]
        with progress_bar(planned.rows) as on_progress:
            on_progress(manifest.tally())
            if todo:
                verdicts = judging.judge(_dataset(ray, planned, todo, fields))
                for number, lines in _whole(planned, verdicts.iter_rows()):
                    manifest.add(number, lines)
                    on_progress(manifest.tally())
        manifest.join()
        return manifest.tally()


def _held(output: str) -> AbstractContextManager[None]:
    """Lock an output on this machine's file systems; object stores have no locks."""
    system, path = locate(output)
    return held(Path(path)) if "file" in system.protocol else nullcontext()


def _absolute(url: str) -> str:
    return url if "://" in url else os.path.abspath(url)  # noqa: PTH100 (it may be no path)


def _dataset(ray: Any, planned: Plan, todo: Sequence[Partition], fields: FieldMap) -> Dataset:
    """Return the partitions as a data set, a block each, as a worker takes whole blocks."""
    # As text: Ray would make one type of all that the mapping holds.
    shared = {"url": planned.url, "map": json.dumps(dict(fields.paths))}
    items = [{**shared, "partition": one.model_dump_json()} for one in todo]
    dataset: Dataset = ray.data.from_items(items, override_num_blocks=len(items))
    return dataset


def _whole(planned: Plan, pieces: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, bytes]]:
    """Yield number and verdicts of each partition, once all its pieces are in, in any order."""
    # A piece holds `lines`, the verdicts of `rows` rows of a `partition` from its row `at` on.
    waiting: dict[int, dict[int, tuple[int, bytes]]] = {}
    for piece in pieces:
        number = int(piece["partition"])
        got = waiting.setdefault(number, {})
        got[int(piece["at"])] = int(piece["rows"]), piece["lines"]
        if sum(rows for rows, _ in got.values()) == planned.partitions[number].rows:
            del waiting[number]
            yield number, b"".join(lines for _, (_, lines) in sorted(got.items()))
    if waiting:
        raise ClusterError(f"verdicts of partition {min(waiting)} did not arrive; run it again")


def by_tokens(rows: Iterable[Row], tokens: int) -> Iterator[list[Row]]:
    """Yield the rows in batches of at most about so many tokens of text, or of one row."""
    batch: list[Row] = []
    room = full = tokens * _CHARACTERS
    for row in rows:
        size = 0 if isinstance(row.example, BadInput) else characters(row.example)
        if batch and size > room:
            yield batch
            batch, room = [], full
        batch.append(row)
        room -= size
    if batch:
        yield batch


class _Pool:
    """A pool of workers, each with the judge."""

    def __init__(self, ray: Any, spec: Spec, workers: Workers) -> None:
        self._ray = ray
        self._spec = spec
        self._workers = workers

    def identity(self) -> dict[str, str]:
        """Load the judge once on the cluster: where it cannot run, that is known at once."""
        options = {"num_cpus": 1, "num_gpus": self._workers.gpus}
        asked = self._ray.remote(_identity).options(**options).remote(self._spec)
        identity: dict[str, str] = self._ray.get(asked)
        return identity

    def judge(self, partitions: Dataset) -> Dataset:
        """Judge the partitions, a piece each."""
        most = self._workers.workers or int(self._ray.cluster_resources().get("CPU", 1))
        return partitions.map(
            PartitionJudge,
            fn_constructor_args=(self._spec, self._workers.batch_tokens),
            compute=self._ray.data.ActorPoolStrategy(min_size=1, max_size=most),
            num_cpus=1,
            num_gpus=self._workers.gpus,
        )


def _identity(spec: Spec) -> dict[str, str]:
    try:
        return identify(load_judge(spec))
    except MoonlynxError as error:
        raise ClusterError(f"a worker cannot load the judge: {error}") from None


class PartitionJudge:
    """A worker: loads the judge once, and judges partitions."""

    def __init__(self, spec: Spec, batch_tokens: int) -> None:
        self._judge = load_judge(spec)
        self._batch_tokens = batch_tokens

    def __call__(self, row: Mapping[str, str]) -> dict[str, Any]:
        """Judge a partition."""
        partition = Partition.model_validate_json(row["partition"])
        lines: list[bytes] = []
        try:
            fields = FieldMap(json.loads(row["map"]))
            rows = read_partition(row["url"], partition, fields)
            for batch in by_tokens(rows, self._batch_tokens):
                lines += map(to_line, judge_batch(self._judge, batch))
        except (MoonlynxError, OSError) as error:
            raise ClusterError(f"rows after line {partition.before}: {error}") from None
        if len(lines) != partition.rows:
            raise ClusterError(f"{row['url']} has changed since the run began; run it again")
        return {
            "partition": partition.number,
            "at": 0,
            "rows": len(lines),
            "lines": b"".join(lines),
        }


class ClusterError(MoonlynxError, RuntimeError):
    """The cluster cannot be reached, or a worker on it cannot go on; says why."""


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Yield Ray, connected for as long as the block lasts.

    Without an address, to the cluster of RAY_ADDRESS; else to one on this machine, for the block.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        from ray.data import DataContext
    except ImportError:
        raise MissingExtra("Judging on Ray", "ray") from None
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    started = {"include_dashboard": False} if address == "local" else {}
    if not started:
        # Ray would try a wrong address 20 times, for a quarter of an hour.
        os.environ.setdefault("RAY_gcs_server_port_wait_time_s", "1")
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.WARNING, **started)
    except (ConnectionError, RuntimeError):
        if started:
            raise
        message = f"no Ray cluster answers at {address}; see `ray status`, or leave out --address"
        raise ClusterError(message) from None
    # Progress is shown by partitions done, which is what a run that is killed keeps.
    DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    # Ray tells of lost workers and nodes on standard output, the last of it at its end.
    with redirect_stdout(sys.stderr):
        try:
            yield ray
        finally:
            ray.shutdown()


@contextmanager
def faults_named() -> Iterator[None]:
    """Turn a `ClusterError` of a worker, in which Ray wraps its traceback, into the bare one."""
    from ray.exceptions import RayError

    try:
        yield
    except RayError as error:
        fault: BaseException | None = error
        while fault is not None:
            if isinstance(fault, ClusterError):
                raise ClusterError(str(fault.args[0])) from None
            fault = getattr(fault, "cause", None) or fault.__cause__
        raise
