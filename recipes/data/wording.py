"""Which words of a claim a change of it touched."""

import re
from difflib import SequenceMatcher


def changed_words(right: str, wrong: str) -> tuple[tuple[int, int], ...] | None:
    """Return the ranges of `wrong` that differ from `right`; None if too much differs to tell."""
    a, b = (list(re.finditer(r"\w+(?:[.,:]\w+)*", text)) for text in (right, wrong))
    blocks = SequenceMatcher(
        None, [m.group().lower() for m in a], [m.group().lower() for m in b], autojunk=False
    ).get_opcodes()
    changed = [(j1, j2) for tag, _, _, j1, j2 in blocks if tag != "equal" and j2 > j1]
    count = sum(j2 - j1 for j1, j2 in changed)
    if not 0 < count <= max(3, len(b) // 3):
        return None
    return tuple((b[j1].start(), b[j2 - 1].end()) for j1, j2 in changed)
