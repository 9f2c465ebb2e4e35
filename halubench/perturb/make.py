"""Make changes of a text: all that the rules can make, or one."""

import re
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

    `text` is what the context supports, a sentence or an answer of several; `question` what it
    answers. The same state of `rng` gives the same changes; `rejections` counts what was refused.
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


_SAME_FACT = 0.3  # share of a claim's content, by weight, in a sentence that states it
_DANGLING = re.compile(
    r"(?:it|he|she|they|this|that|these|those|its|his|her|their|however|also|but|such)\b",
    re.IGNORECASE,
)
_RECORD = re.compile(r"\s*[{\[|]")


def remove_support(text: str, context: Sequence[str]) -> tuple[str, ...] | None:
    """Remove from the context the sentences that hold what the text says.

    So RAGHalu's authors made hallucinated examples of Dolly's answers (appendix A.1), by "altering
    the context so that it either contradicts the answer or does not contain the answer".

    A sentence that leans on a removed one by its first word ("It", "However") goes with it. Records
    and tables are not read as sentences and result in None.

    Returns:
        The documents that still hold text, or None where nothing supports the text, where the rest
        still does, or where nothing would be left.
    """
    source = read(tuple(context))
    if any(_RECORD.match(document) for document in context):
        return None
    claims = [sentence.content for sentence in read((text,)).sentences if sentence.content]
    removed = {
        index
        for index, sentence in enumerate(source.sentences)
        if any(source.coverage(claim, sentence) >= _SAME_FACT for claim in claims)
    }
    if not removed:
        return None
    for index, sentence in enumerate(source.sentences):
        same = index - 1 in removed and source.sentences[index - 1].document == sentence.document
        if same and _DANGLING.match(sentence.text):
            removed.add(index)
    rest = [sentence for index, sentence in enumerate(source.sentences) if index not in removed]
    left = frozenset[str]().union(*(sentence.content for sentence in rest))
    if any(source.weight(claim & left) > 0.8 * source.weight(claim) for claim in claims):
        return None
    documents = list(source.documents)
    for index in sorted(removed, reverse=True):
        sentence = source.sentences[index]
        document = documents[sentence.document]
        behind = document[sentence.end :].lstrip(" \t")
        documents[sentence.document] = document[: sentence.start] + behind
    kept = tuple(document for document in documents if document.strip())
    return kept or None
