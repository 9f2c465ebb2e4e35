"""False refusals: sentences that say that the documents do not say something, where they do.

The words of what is denied are looked for in each sentence of the documents. No model is asked:
Luna's encoder, given the topic for a claim, told the two kinds apart no better.
"""

from __future__ import annotations

from ..contract.types import Evidence, Example, Span, Verdict
from ..text import find_denial, iter_sentences, stems_of
from .findings import clip, fail_by, share_supported

NAME = "refusals"
_HELD = 0.75  # of a topic's words in a sentence of a document, that it is spoken of there
_PREFIX = 4  # letters that related words share: need, needed
_REFERS = frozenset(("it", "its", "this", "that", "they", "them", "these", "those"))


def mark_false_refusals(example: Example, verdict: Verdict) -> Verdict:
    """Mark the false refusals among the sentences that claim nothing: its answer is FAIL."""
    sentences, spans, reasons = [], [], []
    for sentence in verdict.sentences:
        text = example.answer[sentence.start : sentence.end]
        topic = find_denial(text) if sentence.label == "NO_INFO" else None
        found = _spoken_of(text[slice(*topic)], example) if topic else None
        if found is not None:
            update = {"label": "UNSUPPORTED", "kind": "false_refusal", "evidence": (found,)}
            sentence = sentence.model_copy(update=update)
            spans.append(Span(start=sentence.start, end=sentence.end, text=text))
            said = example.context[found.document][found.start : found.end]
            reasons.append(f"FALSE REFUSAL: “{clip(text)}” A document says: “{clip(said)}”")
        sentences.append(sentence)
    if not reasons:
        return verdict
    return verdict.model_copy(
        update=fail_by(verdict, NAME, reasons)
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
