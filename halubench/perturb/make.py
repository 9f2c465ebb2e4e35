"""Make changes of a text: all that the rules can make, or one."""

from collections.abc import Mapping, Sequence
from random import Random

from .clauses import invented_clauses, yes_no
from .dates import dates
from .entities import entities
from .fusion import fusions
from .held import unheld
from .negation import negations
from .numbers import numbers
from .opposites import comparatives, quantifiers
from .position import lost_position
from .source import read
from .swaps import list_swaps, units
from .types import KINDS, Change, Kind, Rejections, Rule
from .verify import realise

_RULES: Mapping[Kind, Rule] = {
    "number": numbers,
    "unit": units,
    "date": dates,
    "entity": entities,
    "negation": negations,
    "comparative": comparatives,
    "quantifier": quantifiers,
    "yes-no": yes_no,
    "list-swap": list_swaps,
    "invented-clause": invented_clauses,
    "fused": fusions,
}


def changes(
    text: str,
    context: Sequence[str],
    rng: Random,
    kinds: Sequence[Kind] = KINDS,
    rejections: Rejections | None = None,
    question: str = "",
) -> list[Change]:
    """Return every change that the rules find and verification accepts, shuffled.

    Args:
        text: a sentence, or an answer of several, that the context supports.
        context: the documents.
        rng: what draws new values; the same state gives the same changes.
        kinds: which rules to apply.
        rejections: counts what was refused, by kind and reason.
        question: that the text answers; "" where there is none.
    """
    source = read(tuple(context))
    counter = Rejections() if rejections is None else rejections
    found = []
    for kind in kinds:
        for draft in _RULES[kind](text, source, rng):
            change = realise(text, draft, source, counter)
            if change is None:
                continue
            reason = unheld(text, draft, source) or lost_position(text, draft, question, source)
            if reason:
                counter[kind, reason] += 1
            else:
                found.append(change)
    rng.shuffle(found)
    return found


def perturb(
    text: str,
    context: Sequence[str],
    rng: Random,
    kinds: Sequence[Kind] = KINDS,
    rejections: Rejections | None = None,
    question: str = "",
) -> Change | None:
    """Return one change, its kind drawn evenly among those possible; None where there is none.

    Arguments are those of `changes`.
    """
    for kind in rng.sample(list(kinds), len(kinds)):
        if found := changes(text, context, rng, (kind,), rejections, question):
            return found[0]
    return None
