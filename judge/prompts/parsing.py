"""Read a Lynx judge's completion: REASONING and SCORE, or why there is none.

One tolerant reader. Valid JSON it reads as `json.loads` does, if its keys take 256 characters or
fewer as written; beyond that it accepts what models write that come close: fences and prose
around the object, other quotes, quotes and line breaks left bare inside a string, Python literals,
missing and trailing commas, a missing last brace, keys in other case, bullets instead of a list, a
bare or decorated score.

It never guesses. A score is the value of an object's own SCORE key and is literally in the
text; PASS or FAIL inside the reasoning is text. Where the reader had to judge for itself where a
string ends, a score of the other kind anywhere in there makes the reply contradictory.

Time is linear in the reply's length: every look ahead is bounded or made of possessive runs.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

from ..contract.types import Score


@dataclass(frozen=True)
class LynxReply:
    """What a Lynx judge said."""

    score: Score  # PASS or FAIL, as the reply has it
    reasoning: tuple[str, ...]  # the bullet points
    score_position: int  # code point offset of the score's first letter in the reply


class ParseFault(ValueError):
    """A reply without a verdict."""

    def __init__(
        self, code: Literal["unparsed", "contradictory", "truncated"], message: str
    ) -> None:
        super().__init__(message)
        self.code: Literal["unparsed", "contradictory", "truncated"] = code


_SHOWN = 80  # characters of a reply in a message
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_OPEN = "\"'“‘"
_END = r"\s*+(?:```\s*+)?\Z"
_STRING = (
    r"""(?:"(?>(?:[^"\\]|\\.){0,256})"|'(?>(?:[^'\\]|\\.){0,256})'"""
    r"""|“[^”]{0,256}+”|‘[^’]{0,256}+’)"""
)
_KEY_TEXT = rf"(?:{_STRING}|(?i:reasoning|score))\s*+:"
_LITERAL_TEXT = r"(?:true|false|null|True|False|None|-?\d[\d.eE+-]*+)(?=\s*+[,}\]])"

_GAP = re.compile(r"[\s,]*+")
_FINISHED = re.compile(_END)
_OPENING = re.compile(rf"\{{\s*+(?={_KEY_TEXT})", re.DOTALL)
_KEY = re.compile(_KEY_TEXT, re.DOTALL)
_LITERAL = re.compile(_LITERAL_TEXT)
# What must follow a quote for it to end a string, in a list and in an object. In valid JSON the
# first bare quote always passes.
_IN_LIST = re.compile(rf"\s*+(?:\]|,[\s,]*+(?:[{_OPEN}\[{{\]]|{_LITERAL_TEXT}))")
_IN_OBJECT = re.compile(
    rf"\s*+(?:\}}|,[\s,]*+(?:\}}|{_KEY_TEXT}|{_END})|{_STRING}\s*+:|{_END})", re.DOTALL
)
_MARKS = {close: re.compile(rf"\\.|{close}", re.DOTALL) for close in _QUOTES.values()}
_NESTED = 16  # levels of brackets

_BARE_SCORE = re.compile(rf"[^,}}\]\[{{\n{_OPEN}]*+")
_SCORE = re.compile(r"[\s\"'“”‘’*_`]*+(PASS|FAIL)[\s\"'“”‘’*_`.,;:!]*+", re.IGNORECASE | re.ASCII)
_SCORE_KEY = re.compile(r"""(?:"score"|'score'|“score”|‘score’)\s*+:""", re.IGNORECASE | re.ASCII)
# A score in text that no string or key bounds for sure.
_LOOSE_SCORE = re.compile(
    r"""\bscore\b["'”’*`\\]*+\s*+[:=]\s*+["'“‘*`\\]*+(pass|fail)\b""", re.IGNORECASE | re.ASCII
)
# The form the prompt asks for, repeated with its blanks: `{"REASONING": <…>, "SCORE": <…>}`.
_BLANK = r"\s*+[\"']?(?:<[^<>{}]{0,80}>|\.{3}|…|\[(?:\.{3}|…)\])[\"']?\s*+"
_SKELETON = re.compile(
    rf"\{{\s*+[\"']?REASONING[\"']?\s*+:{_BLANK},\s*+[\"']?SCORE[\"']?\s*+:{_BLANK}\}}",
    re.IGNORECASE,
)

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPED |= {character: character for character in "\"'\\/"}
_BULLET = re.compile(r"[ \t]*+(?:[-*•‣◦▪–]|\(?\d{1,3}[.)])[ \t]++")


class _Span(NamedTuple):
    start: int
    end: int


class _Value(NamedTuple):
    """A value's strings and bare words as ranges of the text; `single` if it is no container."""

    spans: list[_Span]
    single: bool
    end: int


class _Verdict(NamedTuple):
    """An object with a SCORE: the ranges of its values."""

    scores: list[_Value]
    reasoning: list[_Value]


class _Broken(Exception):
    """An object that cannot be read to its end."""


def parse_lynx(text: str, truncated: bool = False) -> LynxReply:
    """Read a completion.

    Args:
        text: the completion, and nothing of the prompt.
        truncated: it was cut at the token limit.

    Raises:
        ParseFault: `truncated`: cut before a whole object came; `contradictory`: its scores
            disagree; `unparsed`: no object with a SCORE, or a SCORE other than PASS and FAIL.
    """
    verdicts, loose = _read_verdicts(text, truncated)
    if not verdicts and truncated:
        raise ParseFault("truncated", f"the reply was cut before its SCORE: {shorten(text)!r}")
    if not verdicts:
        raise ParseFault("unparsed", f"the reply holds no object with a SCORE: {shorten(text)!r}")
    found = []
    for value in (value for verdict in verdicts for value in verdict.scores):
        match = _SCORE.fullmatch(text, *value.spans[0]) if value.single and value.spans else None
        if match is None:
            given = text[value.spans[0].start : value.spans[-1].end] if value.spans else ""
            raise ParseFault("unparsed", f"SCORE is neither PASS nor FAIL: {shorten(given)!r}")
        found.append(match)
    elsewhere = (match for span in loose for match in _LOOSE_SCORE.finditer(text, *span))
    if len({match[1].upper() for match in (*found, *elsewhere)}) > 1:
        raise ParseFault("contradictory", "the reply gives both PASS and FAIL as its SCORE")
    return LynxReply(
        score=cast("Score", found[0][1].upper()),
        reasoning=tuple(_reasons(text, verdicts[0].reasoning)),
        score_position=found[0].start(1),
    )


def shorten(text: str) -> str:
    """Return the beginning of a reply on one line, fit for a message."""
    line = " ".join(text[: 4 * _SHOWN].split())
    return encodable(line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…")


def encodable(text: str) -> str:
    """Join surrogate pairs, and put U+FFFD for lone surrogates."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _read_verdicts(text: str, truncated: bool) -> tuple[list[_Verdict], list[_Span]]:
    """Return the objects that have a SCORE, and the ranges whose bounds are not certain."""
    verdicts, loose = [], []
    position = 0
    while opening := _OPENING.search(text, position):
        if skeleton := _SKELETON.match(text, opening.start()):
            loose.append(_Span(position, skeleton.end()))
            position = skeleton.end()
            continue
        reader = _Reader(text, truncated)
        try:
            entries, end = reader.read(opening.end())
        except _Broken:
            # What follows may be quoted inside this object, so none of it can be a verdict.
            break
        loose += [_Span(position, opening.start()), *reader.doubtful]
        position = end
        scores = [value for key, value in entries if key == "score"]
        if scores:
            reasoning = [value for key, value in entries if key == "reasoning"]
            verdicts.append(_Verdict(scores, reasoning))
    return verdicts, [*loose, _Span(position, len(text))]


class _Reader:
    """Reads one object and keeps the ranges whose bounds it had to judge for itself."""

    def __init__(self, text: str, truncated: bool) -> None:
        self.doubtful: list[_Span] = []
        self._text = text
        self._truncated = truncated
        self._bare = False

    def read(self, position: int) -> tuple[list[tuple[str, _Value]], int]:
        """Read the object whose brace ends at `position`; return its entries and where it ends."""
        entries, end = self._object(position, 0)
        closed = self._text[end - 1] == "}" and _FINISHED.match(self._text, end)
        # Reasoning without quotes has no bounds of its own: nothing may follow the object.
        if self._bare and (self._truncated or not closed):
            raise _Broken
        return entries, end

    def _object(self, position: int, depth: int) -> tuple[list[tuple[str, _Value]], int]:
        entries: list[tuple[str, _Value]] = []
        while True:
            position = self._skip(_GAP, position)
            if self._text.startswith("}", position):
                return entries, position + 1
            # Of a reply that was cut only whole objects count.
            whole = depth == 0 and not self._truncated
            if whole and _FINISHED.match(self._text, position):
                return entries, len(self._text)
            key = _KEY.match(self._text, position)
            if key is None:
                raise _Broken
            name = key[0][:-1].strip().strip("\"'“”‘’").strip().lower()
            value = self._entry(name, key.end(), depth)
            entries.append((name, value))
            position = value.end

    def _entry(self, name: str, position: int, depth: int) -> _Value:
        position = self._skip(_GAP, position)
        bounded = self._value(position, _IN_OBJECT, depth)
        if bounded is not None:
            return bounded
        if name == "score":
            end = self._skip(_BARE_SCORE, position)
            return _Value([_Span(position, end)], True, end)
        if name == "reasoning":
            return self._bare_reasoning(position)
        raise _Broken

    def _value(self, position: int, closes: re.Pattern[str], depth: int) -> _Value | None:
        """Read a string, container or literal; None if there is none of them."""
        if depth > _NESTED:
            raise _Broken
        head = self._text[position : position + 1]
        if head in _QUOTES:
            return self._string(position, closes)
        if head == "{":
            entries, end = self._object(position + 1, depth + 1)
            return _Value([span for _, value in entries for span in value.spans], False, end)
        if head == "[":
            return self._list(position, depth + 1)
        if literal := _LITERAL.match(self._text, position):
            spans = [] if literal[0] in ("null", "None") else [_Span(*literal.span())]
            return _Value(spans, True, literal.end())
        return None

    def _list(self, position: int, depth: int) -> _Value | None:
        """Read a list; None if its first item has no bounds, as in `[The answer, …]`."""
        spans: list[_Span] = []
        position = self._skip(_GAP, position + 1)
        while not self._text.startswith("]", position):
            item = self._value(position, _IN_LIST, depth)
            if item is None and not spans:
                return None
            if item is None:
                raise _Broken
            spans += item.spans
            position = self._skip(_GAP, item.end)
        return _Value(spans, False, position + 1)

    def _string(self, position: int, closes: re.Pattern[str]) -> _Value:
        """Read a string up to the first quote that the text behind it shows to be its end."""
        close = _QUOTES[self._text[position]]
        doubtful = False
        for mark in _MARKS[close].finditer(self._text, position + 1):
            if mark[0] != close:
                continue
            if closes.match(self._text, mark.end()):
                if doubtful:
                    self.doubtful.append(_Span(position, mark.end()))
                return _Value([_Span(position + 1, mark.start())], True, mark.end())
            doubtful = True
        raise _Broken

    def _bare_reasoning(self, position: int) -> _Value:
        """Read bullets without quotes, up to the SCORE key."""
        key = _SCORE_KEY.search(self._text, position)
        if key is None or re.search(r"[{}]", self._text[position : key.start()]):
            raise _Broken
        self._bare = True
        self.doubtful.append(_Span(position, key.start()))
        end = len(self._text[: key.start()].rstrip(" \t\r\n,]"))
        start = position + self._text.startswith("[", position)
        return _Value([_Span(start, end)], True, key.start())

    def _skip(self, pattern: re.Pattern[str], position: int) -> int:
        match = pattern.match(self._text, position)
        assert match is not None  # these patterns match nothing, too
        return match.end()


def _reasons(text: str, values: list[_Value]) -> Iterator[str]:
    for value in values:
        strings = (_decode(text[span.start : span.end]) for span in value.spans)
        if value.single:
            for string in strings:
                yield from _bullets(string)
        else:
            yield from strings


def _decode(raw: str) -> str:
    """Resolve JSON's escapes; others, like those of LaTeX, stay as they are."""
    return encodable(_ESCAPE.sub(_unescape, raw))


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else _ESCAPED.get(match[2], match[0])


def _bullets(text: str) -> Iterator[str]:
    """Split bullets written as one string; a line without a mark continues the one before."""
    lines = text.replace(" • ", "\n• ").splitlines()
    marked = any(_BULLET.match(line) for line in lines)
    bullet: list[str] = []
    for line in lines:
        if bullet and (not marked or _BULLET.match(line)):
            yield " ".join(bullet)
            bullet = []
        if bare := _BULLET.sub("", line, count=1).strip():
            bullet.append(bare)
    if bullet:
        yield " ".join(bullet)
