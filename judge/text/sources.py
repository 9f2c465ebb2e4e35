"""Which document a citation means: by its number, or by a title or an address that it carries."""

import re
from collections.abc import Sequence

_FIELD = re.compile(
    r"^\W*(?:title|source|name|url|link|file)\W+(?=\w)(?P<name>[^\n\"]{2,200})", re.IGNORECASE
)
_KIND = r"(?:document|doc|passage|source|context|excerpt|article)"
_LABEL = rf"^[ \t]*{_KIND}?[ ]?[\[(#]?0*{{}}[\])]?[ ]?[:.)\]]"
_URL = re.compile(r"https?://[^\s\"'<>()\[\]]+")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
_HEAD = 5  # lines in which a document names itself
_TITLE = 100  # characters of a title at most


def find_document(cited: str, documents: Sequence[str]) -> int | None:
    """Return the index of the document that is cited, None where there is no such.

    A number is that of a document in which a line begins with it ("passage 2:"), else the place
    among the documents from 1. A name is a document's title, or begins it, or the other way round.
    """
    if cited.isdecimal():
        label = re.compile(_LABEL.format(int(cited)), re.IGNORECASE | re.MULTILINE)
        labelled = [index for index, text in enumerate(documents) if label.search(text)]
        if len(labelled) == 1:
            return labelled[0]
        return int(cited) - 1 if 0 < int(cited) <= len(documents) else None
    if url := _URL.search(cited):
        address = url.group().rstrip("/.,")
        return next((index for index, text in enumerate(documents) if address in text), None)
    name = _plain(_LINK.sub(r"\1", cited))
    names = [_names(text) for text in documents]
    for same in (str.__eq__, _begins):
        for index, own in enumerate(names):
            if any(same(name, each) for each in own):
                return index
    return None


def _names(document: str) -> list[str]:
    """Return what a document calls itself: its title line, what is before a colon, named fields."""
    lines = document[:2_000].splitlines()[:_HEAD]
    found = [match["name"] for line in lines if (match := _FIELD.match(line))]
    first = lines[0].strip("#*= \t") if lines else ""
    if len(lines) > 1 and len(first) <= _TITLE and first[-1:] not in ".!?":
        found.append(first)
    before, colon, _ = first.partition(":")
    if colon and len(before) <= _TITLE // 2:
        found.append(before)
    return [name for each in found if (name := _plain(each))]


def _plain(name: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", name.casefold()))


def _begins(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) > 2 and f"{long} ".startswith(f"{short} ")
