"""Fits RAGHalu to a brand: two small regressions on its sentences; the encoder stays as it is.

The paper fine-tunes its 304M encoders on the brand's sentences (appendix A.5.1). Here tier 1 goes
on learning from the weights that ship, and tier 2 gets a regression of five weights over the
encoder's logit and the words that are new to the documents. The encoder learns nothing.
"""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.contract.steps import finish
from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.luna.aggregate import SupportModel, features
from moonlynx.judge.judges.luna.judge import LunaJudge
from moonlynx.judge.judges.luna.weights import open_weights
from moonlynx.judge.judges.raghalu.checkable import CheckableModel, Term, terms
from moonlynx.judge.judges.raghalu.weights import EMBEDDED, Heads, open_heads, save_heads

from .brand import BrandSentence
from .checkable import bare
from .fit import embedded_judge

Floats = NDArray[np.float64]
_UNCHANGED = SupportModel()
_PENALTY = 1.0  # on what moves away from the start; the bias is free
_STEPS = 50
_STILL = 1e-8

DECIDED = 0.5  # of P(unsupported), which is fitted to the brand's own sentences
LEAST_SILENT = 10  # NO_INFO sentences; from fewer tier 1 learns nothing
_RATE, _EPOCHS = 0.5, 10  # of tier 1; a sentence's terms have unit length


def read_features(judge: LunaJudge, examples: Sequence[Example]) -> list[Floats | None]:
    """Run the encoder, and return what the regression reads of each answer, shape (5,).

    That is of the claim with the least support by the encoder; None where no claim was read. The
    judge must return the encoder's own support (`SupportModel()`).
    """
    found = []
    for example, verdict in zip(examples, judge(examples), strict=True):
        claims = [
            features(1 - sentence.raw_score, one)
            for sentence, one in zip(verdict.sentences, finish(judge.read(example)), strict=True)
            if sentence.raw_score is not None
        ]
        found.append(min(claims, key=lambda row: float(row[1]), default=None))
    return found


def fit_support(
    rows: Floats, supported: NDArray[np.bool_], start: SupportModel = _UNCHANGED
) -> SupportModel:
    """Fit the weights by Newton's method, with a penalty on leaving those of `start`.

    `rows` are as `features` returns them, shape (sentences, 5); labels have shape (sentences,).
    """
    before = np.array(list(start.model_dump().values()), dtype=np.float64)
    penalty = np.diag([1e-6, *[_PENALTY] * (len(before) - 1)])
    weights = before.copy()
    for _ in range(_STEPS):
        p = 0.5 + 0.5 * np.tanh(rows @ weights / 2)
        gradient = rows.T @ (p - supported) + penalty @ (weights - before)
        curvature = (rows * (p * (1 - p))[:, None]).T @ rows + penalty
        step = np.linalg.solve(curvature, gradient)
        weights -= np.clip(step, -2.0, 2.0)  # far from the end, Newton's steps may be too long
        if np.abs(step).max() < _STILL:
            break
    return SupportModel(
        **dict(zip(SupportModel.model_fields, np.round(weights, 4).tolist(), strict=True))
    )


def adapt_heads(sentences: Sequence[BrandSentence], out: Path) -> Heads:
    """Fit both tiers to the sentences and write them to `out`, without a calibration.

    A sentence is unsupported where the fitted P(unsupported) is 0.5 or more.
    """
    heads = open_heads(EMBEDDED).heads
    checkable = adapt_checkable(heads.checkable, sentences)
    heads = heads.model_copy(update={"checkable": checkable, "support": SupportModel()})
    spoken = [row for row in sentences if row.label != "NO_INFO"]
    found = read_features(embedded_judge(heads), [row.example() for row in spoken])
    read = [
        (own, row.label == "SUPPORTED")
        for own, row in zip(found, spoken, strict=True)
        if own is not None
    ]
    rows, labels = np.array([own for own, _ in read]), np.array([ok for _, ok in read])
    support = fit_support(rows, labels, open_weights(heads.luna, None).config.support)
    version = f"{heads.version}-brand"
    heads = heads.model_copy(update={"version": version, "threshold": DECIDED, "support": support})
    save_heads(heads, out)
    return heads


def adapt_checkable(model: CheckableModel, sentences: Sequence[BrandSentence]) -> CheckableModel:
    """Continue tier 1's regression by some rounds of gradient steps over the brand's sentences.

    The bias stays, so that the threshold keeps its meaning, and either label counts as much as the
    other. A term that the model does not know is treated as a rare one.
    """
    silent = sum(row.label == "NO_INFO" for row in sentences)
    if silent < LEAST_SILENT:
        return model
    shares = {True: 0.5 / silent, False: 0.5 / (len(sentences) - silent)}
    rare = max(term.idf for term in model.terms.values())
    known = dict(model.terms)
    for _ in range(_EPOCHS):
        for row in sentences:
            counts = Counter(terms(bare(row.sentence)))
            values = {
                term: (1 + math.log(count)) * (known[term].idf if term in known else rare)
                for term, count in counts.items()
            }
            length = math.sqrt(sum(value * value for value in values.values()))
            fitted = model.model_copy(update={"terms": known})
            label = row.label == "NO_INFO"
            error = label - fitted.probability(row.sentence)
            step = _RATE * error * shares[label] * len(sentences)
            for term, value in values.items():
                before = known.get(term, Term(rare, 0.0))
                weight = round(before.weight + step * value / length, 4)
                known[term] = Term(before.idf, weight)
    return model.model_copy(update={"terms": known})
