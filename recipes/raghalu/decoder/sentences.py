"""The open sentences that the paper's models learn from, as far as they are available.

FActScore and HaluEval, two of its four sets; `../public` has the others, without the paper's own
labels. What claims nothing are our own training families (`../sentences`).
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from moonlynx.judge.text import split_sentences

from ...data.answers import LabelledAnswer
from ...data.mixes import Mix
from ..brand import BrandSentence
from ..families import load_families, of_split

SETS = ("factscore_qcnli", "halueval")
_SEED = 0


def open_sentences(data: Path) -> list[BrandSentence]:
    """Return the sentences of the sets' training sides, and ours beside documents drawn from them.

    FActScore's labels are CC BY-NC 4.0: what is trained on them is for research.

    Raises:
        DataNotFound: a set is not at `data`.
    """
    mix = Mix("research")
    answers = [answer for name in SETS for answer in mix.training(name, data)]
    return [*_of_answers(answers), *_of_families(answers)]


def _of_answers(answers: Sequence[LabelledAnswer]) -> Iterator[BrandSentence]:
    """Yield answers by the sentence, except wrong ones of several: which is wrong is not known."""
    for answer in answers:
        pieces = split_sentences(answer.example.answer)
        wrong = answer.label == "FAIL"
        if wrong and len(pieces) > 1:
            continue
        for piece in pieces:
            yield BrandSentence(
                sentence=piece.text,
                label="UNSUPPORTED" if wrong else "SUPPORTED",
                context=answer.example.context,
                question=answer.example.question,
            )


def _of_families(answers: Sequence[LabelledAnswer]) -> Iterator[BrandSentence]:
    rng = random.Random(_SEED)  # noqa: S311 - chance, not secrecy
    for sentence in of_split(load_families(), "train"):
        if not sentence.verifiable:
            beside = rng.choice(answers).example
            yield BrandSentence(
                sentence=sentence.text,
                label="NO_INFO",
                context=beside.context,
                question=beside.question,
            )
