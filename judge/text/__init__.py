"""Text with true offsets: sentences, content tokens, and sentences that claim nothing."""

from .claims import claims_nothing
from .sentences import Piece, body_start, split_sentences
from .tokens import Token, content_tokens, words

__all__ = [
    "Piece",
    "Token",
    "body_start",
    "claims_nothing",
    "content_tokens",
    "split_sentences",
    "words",
]
