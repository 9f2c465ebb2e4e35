"""How far annotators agree with each other and with the rows' own labels, in Markdown."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from moonlynx.eval.markdown import UNDEFINED, table
from moonlynx.judge.contract.types import MoonlynxError

from .kappa import (
    Estimate,
    agreement,
    count_labels,
    estimate,
    estimate_share,
    kappa,
    pairs_of_all,
    pairs_of_two,
    share_of_first,
)
from .ratings import FILE, HOLDS, RIGHT, ROW_LABEL, SENTENCES, Ratings, gather
from .records import Annotation

_COMPARED = ("between", "source", "rows", "items", "agreement", "kappa")
_SHARED = ("annotator", "source", "rows", "yes")


class AgreementError(MoonlynxError):
    """There is nothing to compare."""


def compare_annotators(annotations: Sequence[Annotation]) -> str:
    """Return a report of how far annotators agree, question by question, overall and by source.

    Two are compared on the items that both labelled, all of them on those that all did. Each is
    compared with the rows' own labels too, as in table 2 of the Lynx paper (Ravi et al., 2024); of
    the checks, each one's share of yes is given.

    Raises:
        AgreementError: there are no annotations.
    """
    if not annotations:
        raise AgreementError("there are no annotations yet; label some rows first")
    labelled = Counter(one.annotator for one in annotations)
    parts = [table(("annotator", "rows labelled"), sorted(labelled.items()), form="tight")]
    for question in (ROW_LABEL, SENTENCES, HOLDS, RIGHT):
        ratings = gather(question, annotations)
        if lines := list(_compare(ratings, len(question.choices))):
            parts.append(f"## {question.title}\n\n{table(_COMPARED, lines, form='tight')}")
        if question in (HOLDS, RIGHT) and (lines := list(_shares(ratings))):
            parts.append(
                f"## {question.title}: share of yes\n\n{table(_SHARED, lines, form='tight')}"
            )
    parts.append(
        "Kappa is Fleiss' of all and Cohen's of two. In brackets: 95 % intervals, of bootstrap "
        "draws of rows; of shares of 0 and 1, exact ones."
    )
    return "\n\n".join(parts)


def _compare(ratings: Ratings, k: int) -> Iterator[Sequence[object]]:
    """Yield a line for all annotators, for every two, and for each with the file."""
    *annotators, _ = ratings.raters
    groups = [("all", annotators, pairs_of_all)] if len(annotators) > 1 else []
    groups += [
        (f"{one} and {other}", [one, other], pairs_of_two)
        for one, other in combinations(annotators, 2)
    ]
    groups += [(f"{name} and the file", [name, FILE], pairs_of_two) for name in annotators]
    for between, raters, count in groups:
        for source, rated in ratings.between(raters).by_source():
            pairs = rated.sum_by_row(count(rated.labels, k))
            share, beyond_chance = estimate_share(agreement, pairs), estimate(kappa, pairs)
            items = len(rated.labels)
            yield between, source, len(pairs), items, _show(share), _show(beyond_chance)


def _shares(ratings: Ratings) -> Iterator[Sequence[object]]:
    *annotators, _ = ratings.raters
    for name in annotators:
        for source, rated in ratings.between([name]).by_source():
            counts = count_labels(rated.labels, k=2)
            yield name, source, len(counts), _show(estimate_share(share_of_first, counts))


def _show(found: Estimate) -> str:
    if math.isnan(found.value):
        return UNDEFINED
    interval = "" if math.isnan(found.low) else f" [{found.low:.2f}, {found.high:.2f}]"
    return f"{found.value:.2f}{interval}"
