"""Text with true offsets: sentences, content tokens, and sentences that claim nothing."""

from .claims import claims_nothing
from .sentences import Piece, split_sentences
from .tokens import Token, content_tokens

__all__ = ["Piece", "Token", "claims_nothing", "content_tokens", "split_sentences"]
