"""Texts that try to steer a judge, each beside harmless text of the same length and place."""

from .suite import KINDS, PLACES, Attack, Flips, load_attacks, measure

__all__ = ["KINDS", "PLACES", "Attack", "Flips", "load_attacks", "measure"]
