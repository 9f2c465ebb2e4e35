"""Prose passages with pairs of claims that differ only in what they mean.

A family draws one world and another that differs in one thing: two values change places, a word
turns into its opposite, a sum has other terms, a sentence is absent. A passage is written of one
world, a claim of either: it is supported or contradicted (or not mentioned). So every claim and
every passage is found with both labels, and a bag of words, or a claim alone, says nothing.
"""

from .families import KINDS
from .rows import generate

__all__ = ["KINDS", "generate"]
