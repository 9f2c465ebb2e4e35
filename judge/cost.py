"""What asking a chat model costs: tokens estimated before a run, counted after it, and priced."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from .types import MoonlynxError, Usage

BYTES_PER_TOKEN = 4  # of English prose; tables and other scripts take more tokens than this says


class PriceError(MoonlynxError, ValueError):
    """A price that cannot be read."""


@dataclass(frozen=True)
class Price:
    """What a million tokens cost, in whatever currency."""

    input: float
    output: float

    @classmethod
    def parse(cls, text: str) -> Price:
        """Read "INPUT,OUTPUT".

        Raises:
            PriceError: it is not two numbers of at least 0.
        """
        try:
            prices = [float(part) for part in text.split(",")]
        except ValueError:
            prices = []
        if len(prices) != 2 or not all(price >= 0 and isfinite(price) for price in prices):
            message = "write INPUT,OUTPUT for a million tokens, as in 0.5,1.5"
            raise PriceError(f"{text!r} is no price; {message}")
        return cls(*prices)

    def of(self, usage: Usage) -> float:
        """Give what the usage costs."""
        return (usage.input_tokens * self.input + usage.output_tokens * self.output) / 1e6


def estimate_tokens(text: str) -> float:
    """Estimate how many tokens a text takes, from its length."""
    return len(text.encode("utf-8")) / BYTES_PER_TOKEN


def add_usage(first: Usage, second: Usage) -> Usage:
    """Add up calls and tokens."""
    return Usage(
        calls=first.calls + second.calls,
        input_tokens=first.input_tokens + second.input_tokens,
        output_tokens=first.output_tokens + second.output_tokens,
    )


def show_usage(usage: Usage, what: str) -> str:
    """Give calls, under the name `what`, and tokens: "3 answers (90 tokens in, 30 out)"."""
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    return f"{usage.calls:,} {what} ({tokens})"
