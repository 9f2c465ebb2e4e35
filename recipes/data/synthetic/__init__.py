"""Synthetic answers over synthetic records."""

from .catalogue import HELD_OUT_SCHEMAS, SCHEMAS
from .generator import SyntheticAnswer, SyntheticSentence, generate

__all__ = ["HELD_OUT_SCHEMAS", "SCHEMAS", "SyntheticAnswer", "SyntheticSentence", "generate"]
