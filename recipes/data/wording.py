"""Which words of a claim a change of it touched."""

import re
from difflib import SequenceMatcher


def find_edits(
    before: str, after: str, word: str
) -> tuple[list[re.Match[str]], list[tuple[int, int]]]:
    """Return the words of `after`, and the runs of them that are not those of `before`."""
    old, new = (list(re.finditer(word, text)) for text in (before, after))
    was, now = ([match.group().lower() for match in found] for found in (old, new))
    blocks = SequenceMatcher(None, was, now, autojunk=False).get_opcodes()
    return new, [(j1, j2) for tag, _, _, j1, j2 in blocks if tag != "equal"]


def changed_words(right: str, wrong: str) -> tuple[tuple[int, int], ...] | None:
    """Return the ranges of `wrong` that differ from `right`; None if too much differs to tell."""
    words, edits = find_edits(right, wrong, r"\w+(?:[.,:]\w+)*")
    count = sum(last - first for first, last in edits)
    if not 0 < count <= max(3, len(words) // 3):
        return None
    return tuple((words[i].start(), words[j - 1].end()) for i, j in edits if i < j)
