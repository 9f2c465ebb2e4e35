"""Heads on the encoder of luna:mini: the fast path of Luna-2, without a decoder."""
