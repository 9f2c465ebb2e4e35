"""Reasoning traces: why a row's label holds, in bullet points, as a judge is trained to write."""

from .by_model import KINDS, Tracing
from .by_template import trace
from .target import make_target, with_reasoning

__all__ = ["KINDS", "Tracing", "make_target", "trace", "with_reasoning"]
