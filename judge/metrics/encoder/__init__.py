"""Heads on the embedded encoder: the fast path of Luna-2, without a decoder."""
