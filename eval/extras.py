"""The optional package that reports and comparisons need."""

from __future__ import annotations

from types import ModuleType

from moonlynx.judge.backends.base import MissingExtra


def scipy_stats() -> ModuleType:
    """Return `scipy.stats`.

    Raises:
        MissingExtra: scipy is not installed.
    """
    try:
        from scipy import stats
    except ImportError:
        raise MissingExtra("Reports and comparisons", "eval") from None
    return stats
