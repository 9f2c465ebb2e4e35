"""Measure Ray Serve under load while a replica is lost and while an update goes through.

`python -m tests.bench.ray.update` starts a node, deploys the shipped
`serve.yaml` (without its large model) by `serve deploy`, and keeps clients asking without a pause:
undisturbed, while a replica is killed and replaced, and while `serve deploy` puts another judge in
the place of the first. No request may fail.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.resources import files
from itertools import cycle
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import httpx
import numpy as np
import typer
import yaml

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

_APPLICATION = "moonlynx"
_CPUS = 8  # told to Ray: two generations of replicas fit, however many cores there are
_PATIENCE = 300.0  # seconds until a change is through


class _Reply(NamedTuple):
    """One reply: seconds it took, HTTP status (0: there was none), name of the judge."""

    seconds: float
    status: int
    judge: str


def command(
    first: Annotated[str, typer.Option(help="Name of the judge at the beginning.")] = "raghalu",
    second: Annotated[str, typer.Option(help="Name of the judge after it.")] = DEFAULT_JUDGE,
    clients: Annotated[int, typer.Option(min=1, help="Clients at once.")] = 8,
    seconds: Annotated[float, typer.Option(min=1, help="Of each time in peace.")] = 20,
    report: ReportOption = None,
    against: AgainstOption = None,
) -> None:
    """Update a judge under load, and lose a replica of it."""
    note = f"{clients} clients; 2 gateways and 2 replicas of the judge: `{first}`, then `{second}`."
    bench = Bench(
        title="An update under load on Ray Serve",
        origin=Origin.of("ray.update", "ray"),
        notes=(note,),
    )
    acts: dict[str, Callable[[_Serving], None]] = {
        "in peace": lambda _: time.sleep(seconds),
        "a replica killed, until it is replaced": _Serving.kill_one,
        "in peace again": lambda _: time.sleep(seconds),
        "update, until all old replicas are gone": lambda serving: serving.update(second),
        "in peace, updated": lambda _: time.sleep(seconds),
    }
    judges = [judge.partition("?")[0] for judge in (first, second)]
    with tempfile.TemporaryDirectory() as folder, _serving(Path(folder)) as serving:
        serving.deploy(first)
        with _Load(serving.address, clients) as load:
            for name, act in acts.items():
                bench = bench.adding([load.phase(name, partial(act, serving), judges)])
    publish(bench, "ray-update", report, against)
    if failed := sum(each.found["failed"] or 0 for each in bench.measurements):
        raise BenchError(f"{failed:.0f} requests failed")


class _Load:
    """Clients that ask one request after the other; one counts to the phase in which it ends."""

    def __init__(self, address: str, clients: int) -> None:
        self._address = address
        self._replies: list[_Reply] = []
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(clients)]

    def phase(self, name: str, act: Callable[[], None], judges: Sequence[str]) -> Measurement:
        """Return what the clients see while something is done."""
        begin, started = len(self._replies), time.monotonic()
        act()
        replies, seconds = self._replies[begin:], time.monotonic() - started
        failed = sum(reply.status != 200 for reply in replies)
        say(f"{name}: {len(replies)} requests, {failed} failed")
        taken = 1_000 * np.array([reply.seconds for reply in replies])
        by = Counter(reply.judge for reply in replies)
        return Measurement(
            table="Phases",
            of={"phase": name},
            found={
                "p50 ms": float(np.percentile(taken, 50)),
                "p99 ms": float(np.percentile(taken, 99)),
                "longest ms": float(taken.max()),
                "seconds": seconds,
                "requests": len(replies),
                "failed": failed,
                **{f"by {judge}": by[judge] for judge in judges},
            },
        )

    def _ask(self) -> None:
        rows = (files("moonlynx.judge.examples") / "answers.jsonl").read_text(encoding="utf-8")
        bodies = cycle(line for line in rows.splitlines() if line.strip())
        headers = {"Content-Type": "application/json"}
        with httpx.Client(base_url=self._address, headers=headers, timeout=60) as client:
            while not self._ended.is_set():
                asked = time.monotonic()
                status, judge = 0, ""
                try:
                    reply = client.post("/v1/judge", content=next(bodies))
                    status, judge = reply.status_code, reply.json()["judge"]["name"]
                except (httpx.HTTPError, ValueError, LookupError) as error:
                    say(f"failed: {status} {error!r}")
                self._replies.append(_Reply(time.monotonic() - asked, status, judge))

    def __enter__(self) -> _Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()


class _Serving:
    """The shipped application on a node, deployed by Ray's own command."""

    def __init__(self, folder: Path, port: int, dashboard: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self._dashboard = f"http://127.0.0.1:{dashboard}"
        self._path = folder / "serve.yaml"
        text = (files("moonlynx.serve.ray") / "serve.yaml").read_text(encoding="utf-8")
        self._config: dict[str, Any] = yaml.safe_load(text)
        self._config["http_options"]["port"] = port
        applications = self._config["applications"]
        (self._one,) = (one for one in applications if one["name"] == _APPLICATION)
        self._config["applications"] = [self._one]
        for deployment in self._one["deployments"]:
            deployment["autoscaling_config"] |= {"min_replicas": 2, "max_replicas": 2}

    def deploy(self, judge: str) -> None:
        """Deploy the application with a judge, and wait until it runs."""
        self._one["args"]["judge"] = judge
        self._path.write_text(json.dumps(self._config), encoding="utf-8")  # which is YAML too
        serve = str(Path(sys.executable).with_name("serve"))
        command = [serve, "deploy", str(self._path), "--address", self._dashboard]
        subprocess.run(command, check=True)
        _until(lambda: len(self._replicas()) == 2)

    def update(self, judge: str) -> None:
        """Deploy another judge, and wait until none of the replicas before is left."""
        before = self._replicas()
        self.deploy(judge)
        _until(lambda: len(self._replicas()) == 2 and not self._replicas() & before)

    def kill_one(self) -> None:
        """Kill a replica, and wait until another is in its place."""
        lost = min(self._replicas())
        os.kill(lost, signal.SIGKILL)
        _until(lambda: len(self._replicas() - {lost}) == 2)

    def _replicas(self) -> set[int]:
        """Return the processes of the judge's replicas while the application runs; else none."""
        reply = httpx.get(f"{self._dashboard}/api/serve/applications/", timeout=30)
        found = reply.json()["applications"].get(_APPLICATION)
        if not found or found["status"] != "RUNNING":
            return set()
        replicas = found["deployments"]["Judge"]["replicas"]
        return {one["pid"] for one in replicas if one["state"] in ("RUNNING", "STOPPING")}


@contextmanager
def _serving(folder: Path) -> Iterator[_Serving]:
    """Run a node with Ray's dashboard, by which `serve deploy` reaches it."""
    os.environ |= {"RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    from ray.cluster_utils import Cluster

    here = ("127.0.0.1", 0)
    with socket.create_server(here) as one, socket.create_server(here) as two:
        port, dashboard = one.getsockname()[1], two.getsockname()[1]
    node = {"num_cpus": _CPUS, "include_dashboard": True, "dashboard_port": dashboard}
    node["object_store_memory"] = 200 << 20
    cluster = Cluster(initialize_head=True, head_node_args=node)
    try:
        yield _Serving(folder, port, dashboard)
    finally:
        cluster.shutdown()


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise BenchError("the change did not come through")
        time.sleep(0.5)


if __name__ == "__main__":
    run(command)
