"""The training log."""

from __future__ import annotations

import logging


def show_log() -> None:
    """Write what moonlynx logs to standard error, each line with its time."""
    logging.basicConfig(format="%(asctime)s %(message)s")
    logging.getLogger("moonlynx").setLevel(logging.INFO)
