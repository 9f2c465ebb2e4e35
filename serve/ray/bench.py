"""Measure judging on Ray against judging without it, and lose a worker and a node on the way.

`python -m moonlynx.serve.ray.bench --input ROWS.jsonl --report REPORT.md` repeats the rows up to
10,000, judges them in one process, on one worker and on two, each on a node of its own, and once
more on three nodes, of which one is lost mid-job after a worker was. All outputs must be the same
bytes. Start-up counts in.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Any

import typer

from moonlynx.judge.registry import DEFAULT_JUDGE

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
            "| run | seconds | rows/s | against no Ray |",
            "|---|---|---|---|",
            bench.line("one process, no Ray"),
            bench.line("Ray, 1 node, 1 worker", nodes=1),
            bench.line("Ray, 2 nodes, 2 workers", nodes=2),
            bench.line("Ray, 3 nodes; 1 worker and 1 node lost mid-job", nodes=3, harm=_harm),
        ]
    day = datetime.now(UTC).date()
    report.write_text(
        f"# Batches on Ray\n\n{day}, {os.cpu_count()} cores, judge `{judge}`, {rows} rows in "
        f"{_PARTITIONS} partitions. Nodes are processes of one machine; seconds include start-up. "
        f"All outputs were the same bytes.\n\n" + "\n".join(table) + "\n\nMade by "
        f"`python -m moonlynx.serve.ray.bench --input {source.name} --rows {rows} --judge {judge} "
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

    def line(
        self, name: str, nodes: int = 0, harm: Callable[[Path, Any], None] | None = None
    ) -> str:
        """Make a run, and give its line of the table."""
        output = self._source.with_name(f"{name}.jsonl")
        command = [sys.executable, "-m", "moonlynx", "judge", "--judge", self._judge]
        command += ["--input", str(self._source), "--output", str(output)]
        with _cluster(nodes) as cluster:
            if cluster is not None:
                size = -(-self._rows // _PARTITIONS)
                engine = f"ray?workers={nodes}&partition-rows={size}"
                command += ["--engine", engine, "--address", cluster.address]
            started = time.monotonic()
            with subprocess.Popen(command) as process:  # noqa: S603 (our own command)
                if harm is not None:
                    harm(output, cluster)
            seconds = time.monotonic() - started
        verdicts = output.read_bytes()
        self._seconds, self._wanted = self._seconds or seconds, self._wanted or verdicts
        if process.returncode not in (0, 3) or verdicts != self._wanted:
            raise SystemExit(f"{name}: ended with {process.returncode}, or with other verdicts")
        ratio = self._seconds / seconds
        return f"| {name} | {seconds:.1f} | {self._rows / seconds:.1f} | {ratio:.2f} |"


@contextmanager
def _cluster(nodes: int) -> Iterator[Any]:
    """Run a cluster of so many nodes with a processor each, beside a head that takes no work."""
    if not nodes:
        yield None
        return
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **_NODE})
    try:
        for _ in range(nodes):
            cluster.add_node(num_cpus=1, **_NODE)
        yield cluster
    finally:
        cluster.shutdown()


def _harm(output: Path, cluster: Any) -> None:
    """Kill a worker once a quarter is done, and a node a little later."""
    _wait_for(output, _PARTITIONS // 4)
    worker = next(
        int(entry.parent.name)
        for entry in Path("/proc").glob("[0-9]*/cmdline")
        if b"PartitionJudge" in entry.read_bytes()
    )
    os.kill(worker, signal.SIGKILL)
    _wait_for(output, _PARTITIONS // 2)
    cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)


def _wait_for(output: Path, partitions: int) -> None:
    manifest = output.with_name(f"{output.name}.parts") / "manifest.jsonl"
    while not manifest.exists() or manifest.read_bytes().count(b"\n") <= partitions:
        time.sleep(0.1)


if __name__ == "__main__":
    typer.run(main)
