"""Text with true offsets: sentences, content tokens, and sentences that claim nothing."""

from .announcements import announcement_end
from .claims import claims_nothing
from .denials import find_denial
from .markup import Mark, read_markup
from .sentences import SHORT, Piece, body_start, iter_sentences, split_sentences
from .tokens import Token, content_tokens, forms_of, stem, stems_of, words

__all__ = [
    "SHORT",
    "Mark",
    "Piece",
    "Token",
    "announcement_end",
    "body_start",
    "claims_nothing",
    "content_tokens",
    "find_denial",
    "forms_of",
    "iter_sentences",
    "read_markup",
    "split_sentences",
    "stem",
    "stems_of",
    "words",
]
