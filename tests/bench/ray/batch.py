"""Measure judging on Ray against judging without it, and lose a worker and a node on the way.

`python -m tests.bench.ray.batch --input ROWS.jsonl --report REPORT.md` repeats the rows up to
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
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Any

import typer

from moonlynx.judge.registry import DEFAULT_JUDGE
from moonlynx.judge.terminal.messages import echo

_NODE = {"include_dashboard": False, "object_store_memory": 200 << 20}
_PARTITIONS = 40


def main(
    source: Annotated[Path, typer.Option("--input", help="Rows to judge, as .jsonl.")],
    report: Annotated[Path, typer.Option(help="Markdown file for the table.")],
    rows: Annotated[int, typer.Option(min=_PARTITIONS, help="Rows judged in each run.")] = 10_000,
    judge: Annotated[str, typer.Option(help="Name of the judge.")] = DEFAULT_JUDGE,
) -> None:
    """Measure, and write the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = [line for line in source.read_bytes().splitlines(keepends=True) if line.strip()]
        path = folder / "rows.jsonl"
        path.write_bytes(b"".join(islice(cycle(given), rows)))
        bench = _Bench(path, judge, rows)
        table = [
            "| run | seconds | of them to the first verdicts | rows/s | against one thread |",
            "|---|---|---|---|---|",
            bench.line("one process, 1 thread", threads=1),
            bench.line("one process, a thread for each core"),
            bench.line("Ray, 1 node, 1 worker", nodes=1),
            bench.line("Ray, 2 nodes, 2 workers", nodes=2),
            bench.line("Ray, 3 nodes, 3 workers; 1 worker and 1 node lost", nodes=3, harmed=True),
        ]
    day = datetime.now(UTC).date()
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(
        f"# Batches on Ray\n\n{day}, {os.cpu_count()} cores, judge `{judge}`, {rows} rows in "
        f"{_PARTITIONS} partitions. Nodes are processes of one machine; seconds include start-up. "
        f"All outputs were the same bytes.\n\n" + "\n".join(table) + "\n\nMade by "
        f"`python -m tests.bench.ray.batch --input {source.name} --rows {rows} --judge {judge} "
        f"--report {report.name}`.\n",
        encoding="utf-8",
    )


class _Bench:
    """Runs of one judge over one file."""

    def __init__(self, source: Path, judge: str, rows: int) -> None:
        self._source = source
        self._judge = judge
        self._rows = rows
        self._seconds = 0.0
        self._wanted = b""

    def line(self, name: str, nodes: int = 0, threads: int = 0, harmed: bool = False) -> str:
        """Run once, and return its line of the table."""
        output = self._source.with_name(f"{name}.jsonl")
        command = [sys.executable, "-m", "moonlynx", "judge", "--judge", self._judge]
        command += ["--input", str(self._source), "--output", str(output)]
        environment = os.environ | ({"OMP_NUM_THREADS": str(threads)} if threads else {})
        with _cluster(nodes) as cluster:
            if cluster is not None:
                size = -(-self._rows // _PARTITIONS)
                engine = f"ray?workers={nodes}&partition-rows={size}"
                command += ["--engine", engine, "--address", cluster.address]
            began, started = time.time(), time.monotonic()
            with subprocess.Popen(command, env=environment) as process:
                if harmed:
                    name += _harm(process, output, cluster)
            seconds = time.monotonic() - started
        verdicts = output.read_bytes()
        self._seconds, self._wanted = self._seconds or seconds, self._wanted or verdicts
        if process.returncode not in (0, 3) or verdicts != self._wanted:
            raise SystemExit(f"{name}: ended with {process.returncode}, or with other verdicts")
        parts = output.with_name(f"{output.name}.parts").glob("part-*")
        first = min((part.stat().st_mtime for part in parts), default=None)
        waited = "–" if first is None else f"{first - began:.1f}"
        rate, ratio = self._rows / seconds, self._seconds / seconds
        line = f"| {name} | {seconds:.1f} | {waited} | {rate:.1f} | {ratio:.2f} |"
        echo(line, err=True)
        return line


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
    raise SystemExit("no worker is judging")


def _wait_for(process: subprocess.Popen[bytes], output: Path, partitions: int) -> int:
    """Wait until so many partitions are done; return how many are."""
    manifest = output.with_name(f"{output.name}.parts") / "manifest.jsonl"
    while process.poll() is None:
        # Its first line is of the run.
        done = manifest.read_bytes().count(b"\n") - 1 if manifest.exists() else 0
        if done >= partitions:
            return done
        time.sleep(0.1)
    raise SystemExit(f"the run ended before {partitions} partitions were done")


if __name__ == "__main__":
    typer.run(main)
