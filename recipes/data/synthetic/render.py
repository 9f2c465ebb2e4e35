"""Fills phrases with values and keeps which characters are wrong.

In a phrase `$word` is a slot and `<...>` marks what is wrong if the claim is. A phrase without
marks is wrong where its bad slots are, or all over if it has none of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

_PARTS = re.compile(r"\$([a-z]\w*)|([<>])")
_VOWEL_SOUND = re.compile(r"(?:[aeiou]|8|11\b|18\b)(?!ne\b)", re.IGNORECASE)
_FIXED = re.compile(r"(?:Wi-Fi|I)\b")


@dataclass(frozen=True)
class Rendered:
    """A sentence and its unsupported ranges.

    It is `common` where its first word is small within a sentence.
    """

    text: str
    spans: tuple[tuple[int, int], ...]
    common: bool

    def after(self, prefix: str) -> Rendered:
        """Put text before the sentence, which then starts small where its first word may."""
        text = self.text
        if self.common:
            text = text[0].lower() + text[1:]
        shift = len(prefix)
        spans = tuple((start + shift, end + shift) for start, end in self.spans)
        return Rendered(prefix + text, spans, False)

    def before(self, suffix: str) -> Rendered:
        """Put text between the sentence and its full stop."""
        return Rendered(f"{self.text[:-1]}{suffix}.", self.spans, self.common)

    def join(self, link: str, other: Rendered) -> Rendered:
        """Join two sentences to one."""
        tail = other.after(self.text[:-1] + link)
        return Rendered(tail.text, self.spans + tail.spans, self.common)


@cache
def parse(phrase: str) -> tuple[tuple[str, str], ...]:
    """Cut a phrase into literals, slots and marks."""
    parts: list[tuple[str, str]] = []
    at = 0
    for match in _PARTS.finditer(phrase):
        if match.start() > at:
            parts.append(("text", phrase[at : match.start()]))
        parts.append(("slot", match[1]) if match[1] else ("mark", match[2]))
        at = match.end()
    if at < len(phrase):
        parts.append(("text", phrase[at:]))
    return tuple(parts)


def slots_of(phrase: str) -> frozenset[str]:
    """Return the names of a phrase's slots."""
    return frozenset(text for kind, text in parse(phrase) if kind == "slot")


def render(phrase: str, slots: Mapping[str, str], wrong: bool, bad: tuple[str, ...]) -> Rendered:
    """Fill a phrase; the wrong part of a wrong claim gets spans.

    Without marks in the phrase, that part is its `bad` slots.
    """
    parts = parse(phrase)
    marked = ("mark", "<") in parts
    inside = False
    text = ""
    flags: list[bool] = []
    for kind, part in parts:
        if kind == "mark":
            inside = part == "<"
            continue
        piece = slots[part] if kind == "slot" else part
        if kind == "slot" and text.endswith((" a ", "A ")) and _VOWEL_SOUND.match(piece):
            text = text[:-1] + "n "
            flags.append(flags[-1])
        flag = wrong and (inside if marked else kind == "slot" and part in bad)
        text += piece
        flags += [flag] * len(piece)
    if text.endswith(".."):
        text, flags = text[:-1], flags[:-1]
    if wrong and True not in flags:  # nothing of it holds
        flags = [at < len(text.rstrip(".!:")) for at in range(len(text))]
    slot_first = next(kind for kind, _ in parts if kind != "mark") == "slot"
    common = text[0].islower() if slot_first else not (text[1].isupper() or _FIXED.match(text))
    text = text[0].upper() + text[1:]
    return Rendered(text, _ranges(text, flags), common)


def _ranges(text: str, flags: list[bool]) -> tuple[tuple[int, int], ...]:
    """Join flagged characters to ranges that neither start nor end with a blank."""
    ranges: list[tuple[int, int]] = []
    for run in re.finditer("x+", "".join("x" if flag else " " for flag in flags)):
        cut = text[run.start() : run.end()]
        ranges.append((run.end() - len(cut.lstrip()), run.start() + len(cut.rstrip())))
    return tuple(ranges)
