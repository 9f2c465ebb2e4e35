"""Preflight: every class answers to exactly one token of the vocabulary, in its place.

Luna-2, section 3.3: each target word must be one token; where the words are not, other signs stand
for the classes, and the mapping is kept. Whether a word is one token depends on the text before
it (most vocabularies have " true" and "true"), so it is tried after the exact text that it will
follow: the end of the chat template, or of a label's line.
"""

import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from ..contract.types import MoonlynxError, Record

TokenId = Annotated[int, Field(ge=0)]

_BOOLEAN_SIGNS = ("10", "AB", "ab", "+-")
_SIGNS = (string.digits[1:], string.ascii_uppercase, string.ascii_lowercase)


class PreflightError(MoonlynxError, ValueError):
    """A tokenizer that has no single tokens for a metric's classes, or not those expected."""


class TokenMap(Record):
    """What each class is answered by.

    Attributes:
        written: by class, the word or the sign that stands for it, as the prompt names it.
        ids: by class, the token.
    """

    written: dict[str, str]
    ids: dict[str, TokenId]

    def answers(self) -> str:
        """Return the words as the prompt asks for them; signs with the classes they stand for."""
        if all(written == name for name, written in self.written.items()):
            return f"one word: {_either(list(self.written))}"
        named = [f"{written} for {name}" for name, written in self.written.items()]
        return f"one sign: {_either(named)}"


def find_tokens(tokenizer: Any, words: Mapping[str, str], before: str) -> TokenMap:
    """Find one token for each class.

    The words are taken as they are if each is one token, no two the same; else the first signs
    that are: digits, then letters. After text that ends in white space they are tried without a
    space before them first, elsewhere with one.

    Args:
        tokenizer: transformers'.
        words: by class, the word that it answers to.
        before: the text that the answer follows: rendered, with the template's own tokens.

    Raises:
        PreflightError: neither words nor signs are single tokens.
    """
    spaces = ("", " ") if not before or before[-1].isspace() else (" ", "")
    for written in _candidates(words):
        for space in spaces:
            found = [_only_token(tokenizer, before, space + word) for word in written]
            ids = [token for token in found if token is not None]
            if len(set(ids)) == len(words):
                return TokenMap(
                    written=dict(zip(words, written, strict=True)),
                    ids=dict(zip(words, ids, strict=True)),
                )
    raise PreflightError(
        f"the tokenizer has no single tokens for {', '.join(words.values())}, nor for digits or "
        "letters in their place; use a backbone whose tokenizer has them"
    )


def check_tokens(tokenizer: Any, tokens: TokenMap, before: str) -> None:
    """Check a stored map against the tokenizer.

    Raises:
        PreflightError: one of its words is another token here; names it.
    """
    for name, written in tokens.written.items():
        found = {_only_token(tokenizer, before, space + written) for space in ("", " ")}
        if tokens.ids[name] not in found:
            raise PreflightError(
                f"{written!r}, which stands for {name}, is not the token {tokens.ids[name]} of "
                "this tokenizer: the head was trained on another backbone"
            )


def _candidates(words: Mapping[str, str]) -> Iterator[Sequence[str]]:
    yield list(words.values())
    if len(words) == 2:
        yield from _BOOLEAN_SIGNS
    for signs in _SIGNS:
        if len(words) <= len(signs):
            yield signs[: len(words)]


def _only_token(tokenizer: Any, before: str, word: str) -> int | None:
    """Return the word's token after the text; None where it is several, or merges with the text."""
    context = tokenizer(before, add_special_tokens=False)["input_ids"]
    ids: list[int] = tokenizer(before + word, add_special_tokens=False)["input_ids"]
    if len(ids) != len(context) + 1 or ids[:-1] != context or ids[-1] == tokenizer.unk_token_id:
        return None
    return ids[-1]


def _either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
