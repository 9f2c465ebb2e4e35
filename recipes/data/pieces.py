"""Short answers to validate on: a few sentences at a time of longer ones, with their own labels.

People marked long answers, most of them with an error somewhere. What a threshold does to an answer
of one sentence, or to one over records that is right, only such pieces can show.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from moonlynx.judge.contract.types import Example
from moonlynx.judge.text import split_sentences
from moonlynx.judge.text.claims import claims_nothing

from .answers import LabelledAnswer

LONGEST = 3  # sentences


def cut(answers: Sequence[LabelledAnswer], rng: random.Random) -> Iterator[LabelledAnswer]:
    """Yield pieces of one to `LONGEST` sentences of each answer whose spans are known.

    A piece is FAIL if a span touches it. Those that claim nothing are left out.
    """
    for answer in answers:
        example = answer.example
        if example.spans is None:
            continue
        sentences = split_sentences(example.answer)
        while sentences:
            length = rng.randint(1, LONGEST)
            chosen, sentences = sentences[:length], sentences[length:]
            if not all(claims_nothing(sentence.text) for sentence in chosen):
                yield _piece(answer, chosen[0].start, chosen[-1].end)


def _piece(answer: LabelledAnswer, start: int, end: int) -> LabelledAnswer:
    example = answer.example
    text = example.answer[start:end]
    inside = [
        (max(span.start, start) - start, min(span.end, end) - start)
        for span in example.spans or ()
        if span.start < end and start < span.end
    ]
    row = example.model_dump() | {
        "id": f"{example.id}/{start}-{end}",
        "answer": text,
        "label": "FAIL" if inside else "PASS",
        "spans": [{"start": a, "end": b, "text": text[a:b]} for a, b in inside],
    }
    return LabelledAnswer(Example.from_row(row), answer.exact, answer.group)
