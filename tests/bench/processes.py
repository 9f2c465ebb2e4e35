"""Processes that begin from nothing, so that what one holds in memory is its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor


def own_process() -> ProcessPoolExecutor:
    """Return an executor with one process, started at its first work and kept until it is left."""
    # Here, because the import notes the main module anew.
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    return ProcessPoolExecutor(1, mp_context=get_context("spawn"))
