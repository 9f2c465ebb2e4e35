"""Tier 1: fits the regression over words, and its threshold on sentences that may not be lost."""

import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.judges.raghalu.checkable import CheckableModel, Term, terms
from moonlynx.judge.text import body_start, split_sentences

from ..data.answers import LabelledAnswer, load
from ..data.mixes import Mix
from ..data.synthetic import generate
from .families import load_families, of_split

LOST = 0.01  # of the unsupported sentences of the validation rows: half of what may be lost
_SYNTHETIC = 500  # claims over synthetic records
_RIGHT = {"fetaqa": 300, "pubmedqa": 300}  # right answers' sentences
_INVERSE_STRENGTH = 10.0  # of the regression's penalty
_SEED = 5
_DECIMALS = 4


class Labelled(NamedTuple):
    """A sentence with its label of tier 1."""

    text: str
    verifiable: bool


def training_sentences(data: Path) -> list[Labelled]:
    """Return our own training families, claims over synthetic records and right answers' sentences.

    Raises:
        DataNotFound: a set is not at `data`.
    """
    own = [Labelled(s.text, s.verifiable) for s in of_split(load_families(), "train")]
    rng = random.Random(_SEED)  # noqa: S311 - chance, not secrecy
    claims = [
        answer.answer[sentence.start : sentence.end]
        for answer in generate(_SYNTHETIC, _SEED)
        for sentence in answer.sentences
        if not sentence.family.startswith("filler")
    ]
    texts = rng.sample(claims, _SYNTHETIC)
    for name, count in _RIGHT.items():
        answers = Mix("shipped").training_right(name, data)
        found = [piece.text for row in answers for piece in split_sentences(row.example.answer)]
        texts += rng.sample(found, count)
    return own + [Labelled(text, True) for text in texts]


def fit_checkable(sentences: Sequence[Labelled]) -> CheckableModel:
    """Fit the regression; terms of a single sentence are left out.

    Raises:
        MissingExtra: scikit-learn is not installed.
    """
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise MissingExtra("training", "train") from None
    reader = TfidfVectorizer(analyzer=terms, sublinear_tf=True, min_df=2)
    vectors = reader.fit_transform([bare(sentence.text) for sentence in sentences])
    labels = [not sentence.verifiable for sentence in sentences]
    regression = LogisticRegression(C=_INVERSE_STRENGTH, class_weight="balanced", max_iter=1_000)
    regression.fit(vectors, labels)
    known = zip(reader.get_feature_names_out(), reader.idf_, regression.coef_[0], strict=True)
    return CheckableModel(
        bias=round(float(regression.intercept_[0]), _DECIMALS),
        threshold=0.5,
        terms={
            str(term): Term(round(float(idf), _DECIMALS), round(float(weight), _DECIMALS))
            for term, idf, weight in known
        },
    )


def bare(sentence: str) -> str:
    """Remove the list mark from a sentence, as tier 1 does."""
    return sentence[body_start(sentence) :].strip()


def choose_threshold(lost: NDArray[np.float64]) -> float:
    """Return the least threshold, 0.5 or more, that at most `LOST` of the sentences reach.

    `lost` is P(NO-INFO) of sentences that must not be set aside, shape (sentences,).
    """
    allowed = int(LOST * len(lost))
    highest = np.sort(lost)[::-1]
    bar = float(highest[allowed]) if len(lost) else 0.0
    return min(1.0, max(0.5, round(bar + 5 * 10.0 ** -(_DECIMALS + 1), _DECIMALS)))


def validation_answers(data: Path) -> list[LabelledAnswer]:
    """Return the answers whose unsupported sentences fit the threshold; none is a test row."""
    rows = load("ragtruth_train_part", data)
    return rows + Mix("shipped").training("qa_feedback", data)


def unsupported_sentences(answers: Iterable[LabelledAnswer]) -> Iterator[str]:
    """Yield the sentences that people marked, in whole or in part."""
    for answer in answers:
        spans = answer.example.spans or ()
        for start, end, text in split_sentences(answer.example.answer):
            if any(span.start < end and start < span.end for span in spans):
                yield bare(text)
