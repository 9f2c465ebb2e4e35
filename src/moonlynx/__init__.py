"""moonlynx: an open hallucination judge.

Given a question, the documents that were retrieved and the answer a model wrote, it says whether
the answer is supported, where it is not, and why.
"""

import importlib
import typing

from ._version import __version__
from .judge.contract.base import AsyncJudge, Judge
from .judge.contract.types import BadInput, Example, MoonlynxError, Unscored, Verdict
from .judge.registry import load_judge

if typing.TYPE_CHECKING:
    from .serve.client import AsyncClient, Client

__all__ = [
    "AsyncClient",
    "AsyncJudge",
    "BadInput",
    "Client",
    "Example",
    "Judge",
    "MoonlynxError",
    "Unscored",
    "Verdict",
    "__version__",
    "load_judge",
]


def __getattr__(name: str) -> typing.Any:
    """Load the clients when they are asked for: judges in process need no HTTP."""
    if name in ("AsyncClient", "Client"):
        return getattr(importlib.import_module(".serve.client", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
