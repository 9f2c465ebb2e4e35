"""What documents show wrong by their words alone, whatever a judge's model says of it.

Refusals that say that the documents do not say something, where they do; and copies of a
document's sentence that turn it round.
"""

from collections.abc import Callable
from functools import lru_cache
from heapq import nlargest
from typing import NamedTuple

from ..contract.types import Evidence, Example, Sentence, SentenceKind, Span, Verdict
from ..text import find_denial, iter_sentences, read_markup, stems_of
from ..text.near_copies import find_changes
from .findings import clip, fail_by, share_supported

_NEAREST = 8  # sentences that are aligned with a claim: there may be thousands, and as many claims
_HELD = 0.75  # of a topic's words in a sentence of a document, that it is spoken of there
_PREFIX = 4  # letters that related words share: need, needed
_REFERS = frozenset(("it", "its", "this", "that", "they", "them", "these", "those"))


class _Fault(NamedTuple):
    """What a document shows wrong in a sentence."""

    kind: SentenceKind
    evidence: Evidence
    span: tuple[int, int]  # of the answer
    reason: str


def mark_false_refusals(example: Example, verdict: Verdict) -> Verdict:
    """Mark the false refusals among the sentences that claim nothing: its answer is FAIL.

    They say that the documents do not say something, where they do. The words of what is denied are
    looked for in each sentence of the documents. No model is asked: Luna's encoder, given the topic
    for a claim, told the two kinds apart no better.
    """

    def find(sentence: Sentence) -> _Fault | None:
        text = example.answer[sentence.start : sentence.end]
        denial = find_denial(text) if sentence.label == "NO_INFO" else None
        if denial is None or not denial.whole:
            return None
        found = _spoken_of(text[denial.start : denial.end], example)
        if found is None:
            return None
        said = example.context[found.document][found.start : found.end]
        reason = f"FALSE REFUSAL: “{clip(text)}” A document says: “{clip(said)}”"
        return _Fault("false_refusal", found, (sentence.start, sentence.end), reason)

    return _mark(verdict, example, "refusals", find)


def mark_near_copies(example: Example, verdict: Verdict) -> Verdict:
    """Mark the supported sentences that copy their evidence and turn it round: its answer is FAIL.

    No other sentence of the documents may say it as it is.
    """
    answer = read_markup(example.answer).text

    def find(sentence: Sentence) -> _Fault | None:
        if sentence.label != "SUPPORTED":
            return None
        claim = answer[sentence.start : sentence.end]
        for one in sentence.evidence:
            text = example.context[one.document][one.start : one.end]
            if (changes := find_changes(text, claim)) and not _is_said(claim, example):
                change = changes[0]
                start, end = (sentence.start + at for at in change.claim)
                said, written = example.answer[start:end], text[slice(*change.source)]
                whole = clip(example.answer[sentence.start : sentence.end])
                reason = f"CONTRADICTED: “{whole}” says “{said}”, and a document “{written}”."
                against = one.model_copy(update={"relation": "conflict"})
                return _Fault("contradicted", against, (start, end), reason)
        return None

    return _mark(verdict, example, "near-copies", find)


def _is_said(claim: str, example: Example) -> bool:
    """Return whether a sentence says the claim as it is, of those that have most of its words."""
    wanted = set(stems_of(claim))
    sentences = (one for document in example.context for one in _read(document))
    nearest = nlargest(_NEAREST, sentences, lambda one: (len(wanted & one[1]), -len(one[1])))
    return any(find_changes(text, claim) == [] for text, _ in nearest)


@lru_cache(64)  # of the documents of one answer, for each of its sentences
def _read(document: str) -> list[tuple[str, set[str]]]:
    return [(text, set(stems_of(text))) for _, _, text in iter_sentences(document)]


def _mark(
    verdict: Verdict, example: Example, check: str, find: Callable[[Sentence], _Fault | None]
) -> Verdict:
    sentences: list[Sentence] = []
    spans: list[Span] = []
    reasons: list[str] = []
    for sentence in verdict.sentences:
        if fault := find(sentence):
            found = {"kind": fault.kind, "evidence": (fault.evidence,)}
            sentence = sentence.model_copy(update={"label": "UNSUPPORTED", **found})
            start, end = fault.span
            spans.append(Span(start=start, end=end, text=example.answer[start:end]))
            reasons.append(fault.reason)
        sentences.append(sentence)
    if not reasons:
        return verdict
    return verdict.model_copy(
        update=fail_by(verdict, check, reasons)
        | {
            "sentences": tuple(sentences),
            "faithfulness": share_supported(sentences),
            "spans": tuple(sorted([*verdict.spans, *spans], key=lambda span: span.start)),
        }
    )


def _spoken_of(topic: str, example: Example) -> Evidence | None:
    """Find the sentence of a document that holds the words of a topic, if one does.

    What "it" is, the question says.
    """
    wanted = set(stems_of(topic))
    if not wanted or _REFERS.intersection(topic.casefold().split()):
        wanted |= set(stems_of(example.question))
    for index, document in enumerate(example.context if wanted else ()):
        for start, end, text in iter_sentences(document):
            there = set(stems_of(text))
            held = sum(any(_related(one, word) for word in there) for one in wanted)
            if held >= _HELD * len(wanted):
                return Evidence(document=index, start=start, end=end, relation="conflict")
    return None


def _related(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= _PREFIX and long.startswith(short))
