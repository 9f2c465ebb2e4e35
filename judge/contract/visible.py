"""Untrusted text as a terminal may show it: nothing in it acts, nothing in it hides."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

# Controls (C0, DEL, C1), what sets the direction of writing, what takes no room (Unicode's
# Default_Ignorable_Code_Point, except for the selectors of an emoji's form), line and paragraph
# separators, and lone surrogates, as file names hold them.
_HIDDEN = re.compile(
    "\r\n|[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# Joiners are part of the spelling in some scripts, and of emoji.
_JOINING = re.compile(
    "(?<=[\u0620-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17ff])[\u200c\u200d]"
    "(?=[\u0620-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17ff])"
    "|(?<=[\ufe0f\u2600-\u27bf\U0001f000-\U0001faff])\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff])"
)


def visible(text: str, *, lines: bool = True) -> str:
    r"""Return the text with what a terminal would obey or hide written out: `\x1b`, `U+202E`.

    Args:
        text: may hold anything, lone surrogates too.
        lines: keep line feeds and tabs as they are; a line's end as CR LF becomes LF.
    """
    if text.isascii() and text.isprintable():
        return text
    joining = {match.start() for match in _JOINING.finditer(text)}

    def show(match: re.Match[str]) -> str:
        found = match.group()
        if match.start() in joining or (lines and found in "\n\t"):
            return found
        if lines and found == "\r\n":
            return "\n"
        return "".join(
            f"\\x{ord(one):02x}" if ord(one) < 0xA0 else f"U+{ord(one):04X}" for one in found
        )

    return _HIDDEN.sub(show, text)


def visible_parts(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    """Yield the text part by part as `visible` shows it, each with whether a span covers it.

    Spans are (start, end) in the text's own characters, and may reach beyond it.
    """
    inside = (min(max(edge, 0), len(text)) for span in spans for edge in span)
    for first, last in pairwise(sorted({0, len(text), *inside})):
        covered = any(start <= first and last <= end for start, end in spans)
        yield visible(text[first:last]), covered
