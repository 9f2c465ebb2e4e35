"""Text with true offsets: sentences, content tokens, and sentences that claim nothing."""

from .claims import claims_nothing
from .sentences import SHORT, Piece, body_start, iter_sentences, split_sentences
from .tokens import Token, content_tokens, words

__all__ = [
    "SHORT",
    "Piece",
    "Token",
    "body_start",
    "claims_nothing",
    "content_tokens",
    "iter_sentences",
    "split_sentences",
    "words",
]
