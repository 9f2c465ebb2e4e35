"""Measure judging on Ray against judging without it, and lose a worker and a node on the way.

`python -m tests.bench.ray.batch --input ROWS.jsonl` repeats the rows up to
10,000, judges them in one process, by one thread and by all, on one worker and on two, each on a
node of its own, and once more on three nodes, of which one is lost mid-job after a worker was. All
outputs must be the same bytes. Start-up counts in.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Any

import typer

from moonlynx.judge.registry import DEFAULT_JUDGE

from ..record import (
    AgainstOption,
    Bench,
    BenchError,
    Measurement,
    Origin,
    ReportOption,
    publish,
    run,
    say,
)

_NODE = {"include_dashboard": False, "object_store_memory": 200 << 20}
_PARTITIONS = 40


# What is run: nodes, threads (0: one for each core), whether a worker and a node are lost.
_RUNS = {
    "one process, 1 thread": (0, 1, False),
    "one process, a thread for each core": (0, 0, False),
    "Ray, 1 node, 1 worker": (1, 0, False),
    "Ray, 2 nodes, 2 workers": (2, 0, False),
    "Ray, 3 nodes, 3 workers; 1 worker and 1 node lost": (3, 0, True),
}


def command(
    source: Annotated[Path, typer.Option("--input", help="Rows to judge, as .jsonl.")],
    rows: Annotated[int, typer.Option(min=_PARTITIONS, help="Rows judged in each run.")] = 10_000,
    judge: Annotated[str, typer.Option(help="Name of the judge.")] = DEFAULT_JUDGE,
    report: ReportOption = None,
    against: AgainstOption = None,
) -> None:
    """Judge on Ray and without it."""
    note = (
        f"`{judge}`, {rows:,} rows in {_PARTITIONS} partitions. Nodes are processes of one "
        "machine; seconds include start-up. All outputs were the same bytes."
    )
    bench = Bench(title="Batches on Ray", origin=Origin.of("ray.batch", "ray"), notes=(note,))
    with tempfile.TemporaryDirectory() as folder:
        given = [line for line in source.read_bytes().splitlines(keepends=True) if line.strip()]
        path = Path(folder, "rows.jsonl")
        path.write_bytes(b"".join(islice(cycle(given), rows)))
        bench = bench.adding(_measure(path, judge, rows))
    publish(bench, "ray", report, against)


def _measure(source: Path, judge: str, rows: int) -> Iterator[Measurement]:
    """Yield a row for each run.

    Raises:
        BenchError: a run failed, or gave other bytes than the first.
    """
    base, wanted = 0.0, b""
    for number, (name, (nodes, threads, harmed)) in enumerate(_RUNS.items()):
        output = source.with_name(f"{number}.jsonl")
        words = [sys.executable, "-m", "moonlynx", "judge", "--judge", judge]
        words += ["--input", str(source), "--output", str(output)]
        environment = os.environ | ({"OMP_NUM_THREADS": str(threads)} if threads else {})
        with _cluster(nodes) as cluster:
            if cluster is not None:
                engine = f"ray?workers={nodes}&partition-rows={-(-rows // _PARTITIONS)}"
                words += ["--engine", engine, "--address", cluster.address]
            say(name)
            began, started = time.time(), time.monotonic()
            with subprocess.Popen(words, env=environment) as process:
                if harmed:
                    name += _harm(process, output, cluster)
            seconds = time.monotonic() - started
        verdicts = output.read_bytes()
        base, wanted = base or seconds, wanted or verdicts
        if process.returncode not in (0, 3) or verdicts != wanted:
            raise BenchError(f"{name}: ended with {process.returncode}, or with other verdicts")
        parts = output.with_name(f"{output.name}.parts").glob("part-*")
        first = min((part.stat().st_mtime for part in parts), default=None)
        yield Measurement(
            table="Runs",
            of={"run": name},
            found={
                "rows/s": rows / seconds,
                "seconds": seconds,
                "to the first verdicts": None if first is None else first - began,
                "by one thread's": base / seconds,
            },
        )


@contextmanager
def _cluster(nodes: int) -> Iterator[Any]:
    """Run a cluster of so many nodes with a processor each, beside a head that takes no work."""
    if not nodes:
        yield None
        return
    # Ray would let all else on the machine go before its workers.
    os.environ |= {"RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **_NODE})
    try:
        for _ in range(nodes):
            cluster.add_node(num_cpus=1, **_NODE)
        yield cluster
    finally:
        cluster.shutdown()


def _harm(process: subprocess.Popen[bytes], output: Path, cluster: Any) -> str:
    """Kill a worker once a quarter is done, and a node a little later; return when that was."""
    worker_at = _wait_for(process, output, _PARTITIONS // 4)
    os.kill(_find_worker(cluster), signal.SIGKILL)
    node_at = _wait_for(process, output, _PARTITIONS // 2)
    cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
    return f" after {worker_at} and {node_at} of {_PARTITIONS} partitions"


def _find_worker(cluster: Any) -> int:
    """Find a process that judges on one of the cluster's nodes: others may run beside it."""
    raylets = {node.all_processes["raylet"][0].process.pid for node in cluster.worker_nodes}
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):  # it has just ended
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
            ours = int(fields["PPid"]) in raylets
            if ours and b"PartitionJudge" in status.with_name("cmdline").read_bytes():
                return int(status.parent.name)
    raise BenchError("no worker is judging")


def _wait_for(process: subprocess.Popen[bytes], output: Path, partitions: int) -> int:
    """Wait until so many partitions are done; return how many are."""
    manifest = output.with_name(f"{output.name}.parts") / "manifest.jsonl"
    while process.poll() is None:
        # Its first line is of the run.
        done = manifest.read_bytes().count(b"\n") - 1 if manifest.exists() else 0
        if done >= partitions:
            return done
        time.sleep(0.1)
    raise BenchError(f"the run ended before {partitions} partitions were done")


if __name__ == "__main__":
    run(command)
