"""Synthetic answers over synthetic records."""

from .catalogue import ERRORS, HELD_OUT_SCHEMAS, SCHEMAS
from .generator import MadeAnswer, MadeSentence, generate

__all__ = ["ERRORS", "HELD_OUT_SCHEMAS", "SCHEMAS", "MadeAnswer", "MadeSentence", "generate"]
