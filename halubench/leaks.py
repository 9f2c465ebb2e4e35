"""What a text must not give away: how its row was made.

A reasoning trace is written by one who knows what is wrong with an answer, and read by a judge that
must find it out. So it may not name the prompt's sections, speak of a right answer besides the one
judged, of annotators or labels, or say that the answer was altered (Lynx paper, appendix A.1).
"""

import re
from collections.abc import Iterable
from importlib.resources import files

import yaml

_QUOTED = re.compile(r"“[^”]*+”|\"[^\"\n]*+\"")
_SECTIONS = re.compile(
    r"\b(?:CHANGE[ _]MADE|GOLD[ _]ANSWER|(?i:change_made|gold_answer|unsupported_span|evidence_text"
    r"|new_answer))"
)
# What tells, as regular expressions; PART and ALTERED stand for words of the answer and of changes.
_LISTS = yaml.safe_load(files(__package__).joinpath("leaks.yaml").read_text(encoding="utf-8"))
_WORDS = {name: "|".join(_LISTS[name].split()) for name in ("PART", "ALTERED")}
_TELLING = "|".join(f"(?:{pattern})" for pattern in _LISTS["telling"])
for _name, _words in _WORDS.items():
    _TELLING = _TELLING.replace(_name, f"(?:{_words})")
_TELLS = re.compile(_TELLING, re.IGNORECASE)


def find_leak(texts: Iterable[str], about: str = "") -> str | None:
    """Return the first words that reveal how a row was made; None where there are none.

    Args:
        texts: the trace's bullets, or an answer. What is in double quotation marks is a
            quotation, and may say anything but the sections' names.
        about: what the texts are about; they may take its words up.
    """
    known = about.casefold()
    for text in texts:
        if section := _SECTIONS.search(text):
            return section.group()
        for found in _TELLS.finditer(_QUOTED.sub("“”", text)):
            if found.group().casefold() not in known:
                return found.group()
    return None
