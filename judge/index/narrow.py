"""Narrow a row to the passages of its documents that match its answer, and map ranges back.

A row's context names documents of an index, or is `ALL_DOCUMENTS`; any other context is a text, and
is read whole. For each sentence of the answer the passages that fit it best are kept, by the words
that they share, and for each of its words at least one that holds it: a judge is to see which words
are nowhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from ..contract.types import BadInput, Evidence, Example, Verdict
from ..contract.visible import visible
from ..rows.fields import ALL_DOCUMENTS
from ..text import claims_nothing, iter_sentences, stems_of
from .store import Index

_GAP = "\n\n"  # between passages that are not side by side
BUDGET = 800  # tokens, about, of the passages kept for one sentence
_QUESTION = 0.5  # weight of the question's words beside the sentence's


class _Run(NamedTuple):
    """Passages side by side: where in the narrowed document, and in the document itself.

    `whole` says that the text is rewritten, so that a range in it stands for all of the run.
    """

    at: int
    text: str
    start: int
    end: int
    whole: bool


@dataclass(frozen=True)
class Narrowed:
    """A row as a judge is to read it."""

    example: Example  # with a narrowed context
    # of each of its documents, the place in the row's own context, or in the index where that is
    # `ALL_DOCUMENTS`; and its runs
    documents: Sequence[tuple[int, Sequence[_Run]]]

    def restore(self, verdict: Verdict) -> Verdict:
        """Return the verdict with evidence and citations of the documents themselves."""
        sentences = tuple(
            sentence.model_copy(update={"evidence": tuple(map(self._place, sentence.evidence))})
            for sentence in verdict.sentences
        )
        citations = verdict.citations and tuple(
            one
            if one.document is None
            else one.model_copy(update={"document": self.documents[one.document][0]})
            for one in verdict.citations
        )
        return verdict.model_copy(update={"sentences": sentences, "citations": citations})

    def _place(self, evidence: Evidence) -> Evidence:
        number, runs = self.documents[evidence.document]
        touched = [r for r in runs if r.at < evidence.end and evidence.start < r.at + len(r.text)]
        first, last = touched[0], touched[-1]
        start = first.start if first.whole else first.start + max(0, evidence.start - first.at)
        end = last.end if last.whole else min(last.end, last.start + evidence.end - last.at)
        return evidence.model_copy(update={"document": number, "start": start, "end": end})


def expand(index: Index, example: Example) -> Example:
    """Return the example with the texts of the documents that it names, as verdicts index them."""
    texts = index.texts
    context = (
        tuple(texts.values())
        if example.context == (ALL_DOCUMENTS,)
        else tuple(texts.get(entry, entry) for entry in example.context)
    )
    return example.model_copy(update={"context": context})


def narrow(index: Index, example: Example) -> Narrowed:
    """Narrow an example to what matches its answer.

    Raises:
        BadInput: its context names a document that the index does not have.
    """
    if example.context == (ALL_DOCUMENTS,):
        numbers: list[int | None] = [*range(len(index.texts))]
    else:
        places = {name: number for number, name in enumerate(index.texts)}
        numbers = [_find(places, entry) for entry in example.context]
    asked = {number for number in numbers if number is not None}
    chosen = _choose(index, example, asked) if asked else []
    runs = _runs(index, chosen)
    context: list[str] = []
    documents: list[tuple[int, Sequence[_Run]]] = []
    for place, number in enumerate(numbers):
        if number is None:
            text = example.context[place]
            own: Sequence[_Run] = [_Run(0, text, 0, len(text), False)]
        else:
            own = runs.get(number, [])
            if not own and example.context == (ALL_DOCUMENTS,):
                continue
        context.append(_GAP.join(run.text for run in own))
        documents.append((place, own))
    if not any(text.strip() for text in context):
        raise BadInput("empty_context", "context", "the documents that it names hold no text")
    return Narrowed(example.model_copy(update={"context": tuple(context)}), documents)


def _find(places: dict[str, int], entry: str) -> int | None:
    """Return the number of the document that is named; None for what is a text."""
    if entry in places:
        return places[entry]
    endings = {PurePath(name).suffix for name in places} - {""}
    if len(entry) < 256 and PurePath(entry).suffix in endings and not any(map(str.isspace, entry)):
        near = get_close_matches(entry, places, n=1)
        hint = f"did you mean {near[0]}?" if near else f"it has {len(places)} others"
        message = f"the index has no document {visible(entry)}; {hint}"
        raise BadInput("bad_input", "context", message)
    return None


def _choose(index: Index, example: Example, asked: set[int]) -> list[int]:
    """Choose the passages to keep, by number, rising; at least one."""
    alignment = index.alignment
    inside = np.isin(index.documents, list(asked))
    about = _QUESTION * alignment.score(stems_of(example.question))
    kept: set[int] = set()
    for sentence in iter_sentences(example.answer):
        if claims_nothing(sentence.text):
            continue
        stems = set(stems_of(sentence.text))
        scores = np.where(inside, alignment.score(stems) + about, -1.0)
        order = np.argsort(-scores, kind="stable")
        fitting = int(np.count_nonzero(scores > 0.0)) or int(inside.sum())
        taken = int(np.searchsorted(np.cumsum(index.lengths[order]), BUDGET, side="right"))
        kept.update(order[: max(1, min(taken, fitting))].tolist())
        for stem in sorted(stems & alignment.places.keys()):
            places = alignment.places[stem]
            places = places[inside[places]]
            if len(places) and kept.isdisjoint(places.tolist()):
                kept.add(int(places[np.argmax(scores[places])]))
    return sorted(kept) or np.flatnonzero(inside)[:1].tolist()


def _runs(index: Index, chosen: Sequence[int]) -> dict[int, list[_Run]]:
    """Join the passages' parts side by side; return the runs of each document by its number."""
    texts = list(index.texts.values())
    found: dict[int, list[_Run]] = {}
    before = None
    for passage in chosen:
        runs = found.setdefault(int(index.documents[passage]), [])
        for number in range(*index.starts[passage : passage + 2].tolist()):
            start, end, said = index.parts[number]
            text = texts[index.documents[passage]]
            if said is None and runs and before == number - 1 and not runs[-1].whole:
                last = runs.pop()
                runs.append(_Run(last.at, text[last.start : end], last.start, end, whole=False))
            else:
                at = runs[-1].at + len(runs[-1].text) + len(_GAP) if runs else 0
                runs.append(_Run(at, said or text[start:end], start, end, said is not None))
            before = number
    return found
