"""Perturbation by rules: offline, and the same for the same seed."""

from .make import changes, perturb, remove_support
from .types import KINDS, Change, Kind, Rejections

__all__ = [
    "KINDS",
    "Change",
    "Kind",
    "Rejections",
    "changes",
    "perturb",
    "remove_support",
]
