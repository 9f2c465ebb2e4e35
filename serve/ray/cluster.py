"""A connection to a Ray cluster, and what to say where something fails on it."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.types import MoonlynxError


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
