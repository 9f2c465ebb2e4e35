"""How an answer is set: lists, headings, code, citation marks, polite openings and closings.

All of it is drawn before the claims are known, so that it says nothing about the label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

_OPENINGS = (
    "Based on the documents:",
    "According to the provided context:",
    "Sure! Here is what I found.",
    "Here is a short summary.",
    "From the passages:",
    "Good question.",
    "Answer:",
)
_CLOSINGS = (
    "Let me know if you need anything else.",
    "I hope this helps!",
    "Please tell me if you would like more details.",
)
_MARKS = ("[{}]", "[{}]", "({})", "[Source {}]", "[doc {}]", "(Document {})", "【{}】", "[^{}]")
_FORMS = ("bullets", "bold", "numbers", "heading", "quote", "code")
_MARKED, _SET, _OPENED, _CLOSED = 0.3, 0.3, 0.2, 0.1  # shares of the answers


@dataclass(frozen=True)
class Wrapping:
    """How the claims of one answer are set.

    Attributes:
        form: of the list or block, "" for running text.
        mark: a citation mark with a place for its number, or "".
        inside: whether the mark stands before the full stop.
        numbers: of the documents that are cited, in turn; they are drawn at random.
        opening, closing: sentences around the claims, or "".
    """

    form: str
    mark: str
    inside: bool
    numbers: tuple[int, ...]
    opening: str
    closing: str

    def set(self, claims: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
        """Return the answer and where each claim is in it, without its marks."""
        answer, places = "", []
        for at, claim in enumerate(claims):
            before, text, after = self._line(at, claim)
            start = len(answer) + len(before)
            places.append((start, start + len(text)))
            answer += before + text + after
        head, foot = self._ends()
        return head + answer.rstrip(" ") + foot, [(a + len(head), b + len(head)) for a, b in places]

    def _line(self, at: int, claim: str) -> tuple[str, str, str]:
        before, end = "", " "
        if self.form in ("bullets", "numbers", "quote", "code"):
            before = {"bullets": "- ", "numbers": f"{at + 1}. ", "quote": "> ", "code": ""}[
                self.form
            ]
            end = "\n"
        elif self.form == "bold":
            before, end = "**", "** "
        if not self.mark:
            return before, claim, end
        mark = " " + self.mark.format(self.numbers[at % len(self.numbers)])
        if self.inside and claim.endswith("."):
            return before, claim[:-1], f"{mark}.{end}"
        return before, claim, mark + end

    def _ends(self) -> tuple[str, str]:
        head = f"{self.opening}\n\n" if self.form and self.opening else self.opening
        head += " " if head and not self.form else ""
        if self.form == "heading":
            head += "### Answer\n\n"
        elif self.form == "code":
            head += "```\n"
        foot = "```" if self.form == "code" else ""
        if self.closing:
            foot += f"\n\n{self.closing}" if self.form else f" {self.closing}"
        return head, foot


def draw_wrapping(rng: Random, documents: int, *, of_one: bool) -> Wrapping:
    """Draw how an answer over so many documents is set; one claim is seldom a list."""
    form = rng.choice(_FORMS) if rng.random() < (_SET / 2 if of_one else _SET) else ""
    return Wrapping(
        form,
        rng.choice(_MARKS) if rng.random() < _MARKED else "",
        rng.random() < 0.5,
        tuple(rng.randint(1, documents) for _ in range(4)),
        rng.choice(_OPENINGS) if rng.random() < _OPENED else "",
        rng.choice(_CLOSINGS) if rng.random() < _CLOSED else "",
    )
