"""Synthetic answers over synthetic records."""

from .answers import MadeAnswer, MadeSentence, generate
from .catalogue import ERRORS, HELD_OUT_SCHEMAS, SCHEMAS

__all__ = ["ERRORS", "HELD_OUT_SCHEMAS", "SCHEMAS", "MadeAnswer", "MadeSentence", "generate"]
