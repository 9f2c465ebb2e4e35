"""Labelled answers over documents of such passages, in pairs of a faithful and a hallucinated one.

How an answer is set (lists, headings, code, citation marks, polite openings) is drawn before the
claims are known, so that it says nothing about the label.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from ..answers.base import LabelledAnswer, labelled
from .families import KINDS, Family, Told, draw, load_families

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
_AROUND = {  # a claim in them
    "bullets": ("- ", "\n"),
    "numbers": ("{}. ", "\n"),
    "quote": ("> ", "\n"),
    "code": ("", "\n"),
    "bold": ("**", "** "),
}
_MARKED, _SET, _OPENED, _CLOSED = 0.3, 0.3, 0.2, 0.1  # shares of the answers

_MOST_DOCUMENTS = 4
_MOST_FILLERS = 4  # passages of other families in a document
_FILLERS = tuple(kind for kind in KINDS if kind != "silence")  # true beside any claim
_ALONE = 0.5  # of the answers say nothing else
_SAME_PASSAGE = 0.5  # of the pairs; the others have the same claim over two passages


@dataclass(frozen=True)
class Wrapping:
    """How the claims of one answer are set."""

    form: str  # of the list or block, "" for running text
    mark: str  # a citation mark with a place for its number, or ""
    inside: bool  # whether the mark stands before the full stop
    numbers: tuple[int, ...]  # of the documents that are cited, in turn; they are drawn at random
    # sentences around the claims, or ""
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
        before, end = _AROUND.get(self.form, ("", " "))
        before = before.format(at + 1)
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


@dataclass(frozen=True)
class _Around:
    """What both answers of a pair have in common."""

    # passages by document; None is where the passage in question goes
    documents: tuple[tuple[str | None, ...], ...]
    # other claims of the answer, which the documents support
    before: tuple[str, ...]
    after: tuple[str, ...]
    question: str  # of the user
    wrapping: Wrapping  # how the answer is set


def generate(count: int, seed: int) -> Iterator[tuple[LabelledAnswer, LabelledAnswer]]:
    """Yield pairs of answers, the supported one first; as many of each kind.

    The wrong claim of a pair has its exact span. `source` is `plain:KIND`.
    """
    rng = Random(seed)  # noqa: S311 - chance, not secrecy
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        family = rng.choice(load_families(kind))
        told = draw(family, rng)
        around = _around(family, told, rng)
        same = rng.random() < _SAME_PASSAGE
        wrong = (told.passage, told.false) if same else (told.other, told.true)
        key = f"{kind}/{seed}/{number}"
        yield (
            _row(f"{key}/right", kind, told.passage, told.true, around, None),
            _row(f"{key}/wrong", kind, *wrong, around, told),
        )


def _around(family: Family, told: Told, rng: Random) -> _Around:
    others = [other for kind in _FILLERS for other in load_families(kind) if other is not family]
    # No family twice, since two draws of one may contradict each other.
    spare = rng.sample(others, _MOST_DOCUMENTS * _MOST_FILLERS)
    documents, claims = [], []
    place = rng.randrange(count := rng.randint(1, _MOST_DOCUMENTS))
    for at in range(count):
        wanted = rng.randint(0 if at == place else 1, _MOST_FILLERS)
        fillers = [draw(spare.pop(), rng) for _ in range(wanted)]
        claims += [filler.true for filler in fillers if not filler.question]
        passages: list[str | None] = [filler.passage for filler in fillers]
        if at == place:
            passages.insert(rng.randint(0, len(passages)), None)
        documents.append(tuple(passages))
    rng.shuffle(claims)
    alone = rng.random() < _ALONE or bool(told.question)
    said = () if alone else tuple(claims[: rng.randint(0, 3)])
    cut = rng.randint(0, len(said))
    wrapping = draw_wrapping(rng, count, of_one=not said)
    return _Around(tuple(documents), said[:cut], said[cut:], told.question, wrapping)


def _row(
    key: str, kind: str, passage: str, claim: str, around: _Around, wrong: Told | None
) -> LabelledAnswer:
    context = [
        " ".join(passage if part is None else part for part in document)
        for document in around.documents
    ]
    answer, places = around.wrapping.set([*around.before, claim, *around.after])
    start, _ = places[len(around.before)]
    words = [] if wrong is None else wrong.wrong_words(claim)
    return labelled(
        f"plain:{kind}",
        key,
        "PASS" if wrong is None else "FAIL",
        context=context,
        answer=answer,
        question=around.question,
        spans=[(start + a, start + b) for a, b in words],
        contradicted=None if wrong is None else wrong.contradicted(claim),
    )
