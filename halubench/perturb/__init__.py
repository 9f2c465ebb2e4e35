"""Perturbation by rules: offline, and the same for the same seed."""

from .clauses import add_supported_clause
from .context import alter_context, remove_support
from .make import changes, perturb
from .types import KINDS, Change, Kind, Rejections

__all__ = [
    "KINDS",
    "Change",
    "Kind",
    "Rejections",
    "add_supported_clause",
    "alter_context",
    "changes",
    "perturb",
    "remove_support",
]
