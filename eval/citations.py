"""Citation recall and precision of an answer, as a judge found them."""

from __future__ import annotations

from math import nan

from moonlynx.judge.contract.types import Verdict
from moonlynx.judge.judges.cited import read_units


def citation_scores(answer: str, verdict: Verdict) -> tuple[float, float]:
    """Return an answer's citation recall and precision, in [0, 1], NaN where there is none.

    ALCE's definitions (Gao et al. 2023, "Enabling Large Language Models to Generate Text with
    Citations", arXiv 2305.14627, section 4), with the judge in the place of their NLI model.
    Recall is the share of the sentences claiming something that what they cite supports; without a
    citation that is none. Precision is the share of the citations that support their sentence, or
    are needed for it; those that do not exist do not, those of sentences without a claim are left
    out. As a judge that finds a sentence unsupported by all documents says so of its citations, a
    sentence counts as supported where one of its citations is.
    """
    if verdict.citations is None:
        return nan, nan
    found = {(one.start, one.end): one for one in verdict.citations if one.status == "supported"}
    units, whole = read_units(answer, verdict.sentences)
    recalled = [
        unit.label == "SUPPORTED"
        and any((mark.start, mark.end) in found for mark in unit.marks or whole)
        for unit in units
        if unit.label != "NO_INFO"
    ]
    checked = [one.status == "supported" for one in verdict.citations if one.status is not None]
    recall = sum(recalled) / len(recalled) if recalled else nan
    return recall, sum(checked) / len(checked) if checked else nan
