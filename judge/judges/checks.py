"""What is checked once the claims are judged: what the answer cites, and what documents refute.

A citation is checked as ALCE does it (Gao et al. 2023, arXiv 2305.14627, section 4): a sentence is
judged again, by the same judge, beside what it cites and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..contract.base import Judge
from ..contract.steps import Progress, Steps, Wrapper, steps_of
from ..contract.types import Citation, CitationStatus, Example, Verdict
from ..decision.cost import total_usage
from ..text import Mark, Piece, read_markup
from ..text.sources import find_document
from .cited import Unit, read_units
from .findings import clip, fail_by
from .refuted import mark_false_refusals, mark_near_copies

CITATIONS = "citations"
_CHECKED = 8  # documents of one sentence that are read by themselves
_LEAD = 600  # characters of the answer that a sentence is read with
_RANK: tuple[CitationStatus | None, ...]
_RANK = ("supported", "supported_elsewhere", "unsupported", "dangling", None)


@dataclass
class _Reading:
    """What an answer cites, and what the judge says of its sentences beside that alone."""

    among: int = 0  # documents of the answer
    # as `read_units` returns them
    units: Sequence[Unit] = ()
    whole: Sequence[Mark] = ()
    # that each mark cites, None for one that does not exist
    documents: dict[Mark, list[int | None]] = field(default_factory=dict)
    # sentences, by number, beside sets of documents: what to judge, and what was found
    asked: dict[tuple[int, frozenset[int]], Example] = field(default_factory=dict)
    found: dict[tuple[int, frozenset[int]], Verdict] = field(default_factory=dict)
    _cited: dict[int, frozenset[int]] = field(default_factory=dict)

    def cited(self, number: int) -> frozenset[int]:
        """Return the documents that a sentence cites, the first `_CHECKED` of them."""
        if number not in self._cited:  # asked for by each mark of it
            marks = self.units[number].marks or self.whole
            named = (one for mark in marks for one in self.documents[mark] if one is not None)
            self._cited[number] = frozenset([*dict.fromkeys(named)][:_CHECKED])
        return self._cited[number]

    def holds(self, number: int, documents: frozenset[int]) -> bool:
        """Return whether the documents support the sentence, no worse than all of them do."""
        unit = self.units[number]
        if not documents or unit.label != "SUPPORTED":
            return False
        found = self.found.get((number, documents))
        if found is None:
            return len(documents) == self.among
        score = found.raw_score
        return found.score == "PASS" or (score is not None and score <= unit.raw_score)

    def status(self, number: int, document: int | None) -> CitationStatus | None:
        """Return what became of a citation of the document by the sentence."""
        unit = self.units[number]
        cited = self.cited(number)
        if document is None:
            return "dangling"
        if unit.label == "NO_INFO" or document not in cited:
            return None
        if unit.label == "UNSUPPORTED":
            return "unsupported"
        if self.holds(number, frozenset([document])):
            return "supported"
        alone = any(self.holds(number, frozenset([one])) for one in cited)
        return "supported" if not alone and self.holds(number, cited) else "supported_elsewhere"


class Checked(Wrapper):
    """A judge whose verdicts say what became of each citation, and what the documents refute.

    A false refusal, or a copy of a document's sentence that turns it round, is an UNSUPPORTED
    sentence and its answer FAIL. With `required` an answer is FAIL too where a sentence that claims
    something cites nothing or wrongly. `raw_score` stays the judge's own; where a check changes the
    score, `probability` is null and `stages` names it.
    """

    def __init__(self, judge: Judge, *, required: bool = False) -> None:
        super().__init__(judge)
        self._required = required

    def steps(self, examples: Sequence[Example]) -> Steps:
        """Judge the examples in the judge's own steps, then what their sentences cite."""
        verdicts = yield from steps_of(self._judge, examples)
        readings = []
        for example, verdict in zip(examples, verdicts, strict=True):
            readings.append(_read(example, verdict, always=self._required))
            yield None
        asked = [one for reading in readings if reading for one in reading.asked.values()]
        found = iter((yield from _quietly(steps_of(self._judge, asked))) if asked else ())
        settled = []
        for example, verdict, reading in zip(examples, verdicts, readings, strict=True):
            if verdict.score is not None:
                verdict = mark_near_copies(example, mark_false_refusals(example, verdict))
            if reading is not None:
                reading.found = {key: next(found) for key in reading.asked}
                usage = total_usage(one.usage for one in (verdict, *reading.found.values()))
                verdict = _cite(verdict, reading, required=self._required)
                verdict = verdict.model_copy(update={"usage": usage})
            settled.append(verdict)
        return settled


def _quietly(steps: Steps) -> Steps:
    """Run a judge's steps without its progress, which would be that of other rows."""
    reply = None
    while True:
        try:
            step = steps.send(reply)
        except StopIteration as end:
            verdicts: list[Verdict] = end.value
            return verdicts
        reply = yield None if isinstance(step, Progress) else step


def _read(example: Example, verdict: Verdict, *, always: bool) -> _Reading | None:
    """Return what the answer cites, None where its sentences have no labels."""
    if verdict.score is None or not verdict.sentences:
        return None
    marks = read_markup(example.answer).marks
    if not marks and not always:
        return _Reading()
    units, whole = read_units(example.answer, verdict.sentences)
    documents = {
        mark: [find_document(cited, example.context) for cited in mark.cited] for mark in marks
    }
    reading = _Reading(len(example.context), units, whole, documents)
    for number, unit in enumerate(units):
        if unit.label == "SUPPORTED":
            for alone in _sets(reading.cited(number), reading.among):
                if any(example.context[one].strip() for one in alone):
                    reading.asked[number, alone] = _alone(example, unit.piece, alone)
    return reading


def _sets(documents: frozenset[int], among: int) -> list[frozenset[int]]:
    """Return the sets to read a sentence with: each document, and all that it cites."""
    sets = {frozenset([one]) for one in documents} | {documents}
    return sorted((each for each in sets if 0 < len(each) < among), key=sorted)


def _alone(example: Example, piece: Piece, documents: frozenset[int]) -> Example:
    before = read_markup(example.answer).text[max(0, piece.start - _LEAD) : piece.start]
    return Example(
        question=f"{example.question} {' '.join(before.split())}".strip(),
        context=tuple(example.context[one] for one in sorted(documents)),
        answer=piece.text,
        conversation=example.conversation,
    )


def _cite(verdict: Verdict, reading: _Reading, *, required: bool) -> Verdict:
    citations: list[Citation] = []
    faults: list[str] = []
    for number, unit in enumerate(reading.units):
        own = [
            _citation(mark, one, reading.status(number, one))
            for mark in unit.marks
            for one in reading.documents[mark]
        ]
        citations += own
        wrong = [_said(one) for one in own if one.status not in ("supported", None)]
        uncited = not own and not reading.holds(number, reading.cited(number))
        if unit.label != "NO_INFO" and (wrong or uncited):
            said = "; ".join(wrong) or "nothing that supports it"
            name = "MISCITED" if wrong else "UNCITED"
            faults.append(f"{name}: “{clip(unit.piece.text)}” cites {said}.")
    silent = [number for number, unit in enumerate(reading.units) if not unit.marks]
    cited = [(mark, one) for mark in reading.whole for one in reading.documents[mark]]
    best = {  # a document is as good as for the sentence that it supports best
        one: min(
            (reading.status(number, one) for number in silent),
            key=_RANK.index,
            default=None if one is not None else "dangling",
        )
        for one in dict.fromkeys(one for _, one in cited)
    }
    citations += [_citation(mark, one, best[one]) for mark, one in cited]
    update: dict[str, object] = {
        "citations": tuple(sorted(citations, key=lambda one: (one.start, one.document or 0)))
    }
    if required and faults:
        update |= fail_by(verdict, CITATIONS, faults)
    return verdict.model_copy(update=update)


def _citation(mark: Mark, document: int | None, status: CitationStatus | None) -> Citation:
    return Citation(start=mark.start, end=mark.end, document=document, status=status)


def _said(citation: Citation) -> str:
    if citation.document is None:
        return "a document that does not exist"
    where = "another does" if citation.status == "supported_elsewhere" else "none does"
    return f"document {citation.document + 1}, which does not support it ({where})"
