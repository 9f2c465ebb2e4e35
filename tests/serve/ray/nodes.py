"""A cluster of several nodes on this machine, by Ray's own utility for tests."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ..loopback import free_port

# On a busy machine a node's helpers may take longer to come up than Ray waits by default.
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",  # it would leave a token in the home folder
    "RAY_agent_register_timeout_ms": "300000",
    "RAY_health_check_timeout_ms": "60000",
    "RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S": "60",
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",
    "RAY_raylet_start_wait_time_s": "300",
    "RAY_worker_register_timeout_seconds": "300",
    "RAY_worker_niceness": "0",  # else all other work goes before a worker's
}


def parameters():
    """Return how a node starts; it waits for no helper whose port it knows."""
    helpers = ("metrics_agent", "metrics_export", "runtime_env_agent", "dashboard_agent_listen")
    return {
        "include_dashboard": False,
        "include_log_monitor": False,
        "no_monitor": True,
        "object_store_memory": 100 << 20,
        **{f"{name}_port": free_port() for name in helpers},
    }


@contextmanager
def cluster(workers, cpus=1):
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'moonlynx[ray]'")
    os.environ |= ENVIRONMENT
    from ray.cluster_utils import Cluster

    running = Cluster(initialize_head=True, head_node_args={"num_cpus": 0} | parameters())
    try:
        nodes = [running.add_node(num_cpus=cpus, **parameters()) for _ in range(workers)]
        yield running, nodes
    finally:
        running.shutdown()


def judging(source, output, *options, address=None):
    line = [sys.executable, "-m", "moonlynx", "judge", "--input", str(source)]
    line += ["--output", str(output), *options]
    line += ["--address", address] if address else []
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process, code, seconds=900):
    said, complaint = process.communicate(timeout=seconds)
    assert process.returncode == code, complaint[-3000:]
    assert said == "", said
    return complaint


def processes(word):
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if word.encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def manifest(output):
    path = output.with_name(f"{output.name}.parts") / "manifest.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()[1:]] if path.exists() else []
