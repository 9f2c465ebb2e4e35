"""Replies: their tokens with alternatives, their faults, what they cost."""

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from ..contract.types import JudgeError, Usage
from .base import ChatReply, ReplyToken

# A token's logprob, and id and logprob of the most likely tokens in its place.
Step = tuple[float, Sequence[tuple[int, float]]]

# Alternatives asked for at each place: the most that OpenAI's API, and vLLM by default, will give.
TOP = 20

# How servers write the logprob of a token that a schema rules out: minus infinity, in JSON.
IMPOSSIBLE = -9999.0


def reply_token(text: str, logprob: float, others: Iterable[tuple[str, float]]) -> ReplyToken:
    """Return a token with the other candidates for its place, most likely first.

    What a schema rules out is no candidate.
    """
    possible = [(text, logprob), *(other for other in others if other[1] > IMPOSSIBLE)]
    ranked = sorted(possible, key=lambda candidate: -candidate[1])
    return ReplyToken(text, logprob, tuple(ranked))


def aligned(tokens: Sequence[ReplyToken], text: str) -> tuple[ReplyToken, ...] | None:
    """Return the tokens that join to `text`, and special tokens at the end.

    A server may give less than was said: llama.cpp's leaves out the fence around a reply's JSON.
    Tokens before the text are left out then, and a token that began before it is cut. Where the
    tokens do not hold the text, as when a reply ends within a character, no token's place in it is
    known, and the result is None.
    """
    joined = "".join(token.text for token in tokens)
    before = 0 if joined.startswith(text) else joined.rfind(text)
    if before < 0:
        return None
    kept = list(tokens)
    while before and before >= len(kept[0].text):
        before -= len(kept.pop(0).text)
    if before:
        kept[0] = replace(kept[0], text=kept[0].text[before:])
    return tuple(kept)


def spell(
    decode: Callable[[Sequence[int]], str],
    name: Callable[[int], str | None],
    ids: Sequence[int],
    steps: Sequence[Step],
) -> Iterator[ReplyToken]:
    """Turn token ids into reply tokens, whose texts join to `decode(ids)`.

    A token's text is what it adds to the text before it. One that ends within a character adds
    nothing; the next, which completes it, adds the whole.

    Args:
        decode: returns the text of token ids, leaving out special tokens.
        name: returns a special token's name.
        ids: the reply.
        steps: for each id its logprob, and id and logprob of the most likely ids in its place.
    """
    start = settled = 0  # ids[start:settled] is the last piece of text that is known to be whole
    for place, (chosen, (logprob, likely)) in enumerate(zip(ids, steps, strict=False)):
        before = len(decode(ids[start:settled]))
        context = list(ids[start:place])
        text = decode([*context, chosen])[before:]
        others = [
            (decode([*context, other])[before:] or name(other) or "", value)
            for other, value in likely
            if other != chosen
        ]
        if text.endswith("\ufffd") and place + 1 < len(ids):
            text = ""
        else:
            start, settled = settled, place + 1
        yield reply_token(text, logprob, others)


def enum_places(
    tokens: Sequence[ReplyToken], text: str, schema: Mapping[str, Any]
) -> Iterator[tuple[int, list[str]]]:
    """Yield where a word of an enum begins in a reply, and how each would go on from there."""
    ends = list(accumulate(len(token.text) for token in tokens))
    for name, field in schema.get("properties", {}).items():
        words = field.get("enum", ()) if isinstance(field, Mapping) else ()
        found = list(re.finditer(rf'"{re.escape(name)}":\s*"', text))
        if words and found and all(isinstance(word, str) for word in words):
            first = found[-1].end()
            place = bisect_right(ends, first)
            lead = text[ends[place] - len(tokens[place].text) : first]
            yield place, [f'{lead}{word}"' for word in words]


def among(words: Sequence[str], candidates: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return the candidates that a word begins with, or that begin with a word."""
    return [
        (text, value)
        for text, value in candidates
        if text and any(word.startswith(text) or text.startswith(word) for word in words)
    ]


def share_of(
    word: str, words: Sequence[str], candidates: Sequence[tuple[str, float]]
) -> float | None:
    """Return P(word) among the words, in [0, 1], where one of them begins; None where none does.

    Args:
        word: one of `words`.
        words: as they would go on from the place.
        candidates: for the place, each with its logprob.
    """
    weights = {
        each: math.fsum(math.exp(value) for _, value in among([each], candidates)) for each in words
    }
    total = math.fsum(weights.values())
    return weights[word] / total if total > 0.0 else None


def log_softmax(candidates: Sequence[tuple[str, float]]) -> Iterator[tuple[str, float]]:
    """Yield the candidates with logprobs among themselves."""
    peak = max((value for _, value in candidates), default=0.0)
    total = math.fsum(math.exp(value - peak) for _, value in candidates)
    return ((text, min(value - peak - math.log(total), 0.0)) for text, value in candidates)


def faulty(error: JudgeError) -> ChatReply:
    """Return the reply to a request that went wrong."""
    return ChatReply(text="", finish="error", error=error)


def fault_of(reply: ChatReply) -> JudgeError | None:
    """Return why a reply cannot be used; None where it is whole."""
    if reply.error is not None:
        return reply.error
    if reply.finish == "length":
        message = f"the reply was cut after {reply.output_tokens} tokens"
        return JudgeError(code="truncated", message=message)
    if reply.finish == "refused":
        return JudgeError(code="refused", message="the model refused to reply")
    return None


def usage_of(replies: Sequence[ChatReply]) -> Usage:
    """Add up what the replies cost."""
    return Usage(
        calls=len(replies),
        input_tokens=sum(reply.input_tokens for reply in replies),
        output_tokens=sum(reply.output_tokens for reply in replies),
    )
