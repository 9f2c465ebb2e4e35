"""How much one answer may ask of a server."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from moonlynx.judge.contract.types import BadInput, Example

if TYPE_CHECKING:
    from moonlynx.judge.rows.examples import Row

    from ..growing import GrowingAnswer

_BYTES = 4  # of UTF-8 that count as a token, whatever the judge's tokenizer
_LEAST = 2  # characters that a sentence takes


@dataclass(frozen=True)
class Limits:
    """The most that a row may hold."""

    answer: int = 200_000  # characters of the answer
    claims: int = 2_000  # sentences of it
    documents: int = 1_000  # in the context
    tokens: int = 250_000  # of question, documents and answer; four bytes of UTF-8 count as one

    def check(self, texts: Example | GrowingAnswer) -> None:
        """Refuse what is over a limit; may take as long as to cut the answer into sentences."""
        characters, documents = len(texts.answer), len(texts.context)
        if characters > self.answer:
            raise _over("answer", characters, self.answer, "characters", "judge it in parts")
        if documents > self.documents:
            raise _over("context", documents, self.documents, "documents", "send fewer")
        size = sum(map(_size, (texts.question, *texts.context, texts.answer)))
        if size > self.tokens * _BYTES:
            tokens = -(-size // _BYTES)
            raise _over("row", tokens, self.tokens, "tokens", "send fewer or shorter documents")
        if self.is_quick(texts):
            return
        from moonlynx.judge.text import iter_sentences  # syntok, which the command starts without

        claims = sum(1 for _ in islice(iter_sentences(texts.answer), self.claims + 1))
        if claims > self.claims:
            raise BadInput(
                "too_long",
                "answer",
                f"has more than {self.claims:,} sentences, the limit; judge it in parts",
            )

    def is_quick(self, texts: Example | GrowingAnswer) -> bool:
        """Return whether the answer is too short to hold too many sentences."""
        return len(texts.answer) <= _LEAST * self.claims

    def row(self, row: Row) -> Row:
        """Replace an example that is over a limit by its fault."""
        if isinstance(row.example, Example):
            try:
                self.check(row.example)
            except BadInput as error:
                return row._replace(example=error)
        return row


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def _over(field: str, found: int, most: int, unit: str, fix: str) -> BadInput:
    return BadInput("too_long", field, f"has {found:,} {unit}, over the limit of {most:,}; {fix}")
