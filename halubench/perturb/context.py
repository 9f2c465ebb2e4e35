"""The other way round: the text stays, and its context is altered so that it no longer holds it.

So RAGHalu's authors made wrong examples of Dolly's answers (appendix A.1): "altering the context so
that it either contradicts the answer or does not contain the answer".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from moonlynx.judge.text import body_start, words

from .dates import dates
from .entities import entities
from .negation import negations
from .numbers import numbers
from .source import Sentence, Source, canonical, read
from .types import Change, Draft, Rejections
from .verify import realise

_RULES = (numbers, dates, entities, negations)
_HOLDS = 0.5  # share of a text's content that a sentence must hold to be its support
_SAME_FACT = 0.3  # the same for a sentence that holds the value that was changed
_VERB_WORDS = 2  # beside a negated verb that the text must hold, too
_TOPIC = 3  # sentences; a name in more of them is what the context is about
_DANGLING = re.compile(
    r"(?:it|he|she|they|this|that|these|those|its|his|her|their|however|also|but|such)\b",
    re.IGNORECASE,
)
_RECORD = re.compile(r"\s*[{\[|]")


def alter_context(text: str, context: Sequence[str], rng: Random) -> tuple[str, ...] | None:
    """Change the fact that the text rests on, wherever the context states it.

    A number, date, name or negation in the sentence that best matches the text is changed; other
    sentences that state the same value of the same thing are changed alike.

    Args:
        text: a claim that the context supports.
        context: the documents.
        rng: what draws the change.

    Returns:
        The documents, one of them at least changed; None where no change contradicts the text.
    """
    source = read(tuple(context))
    body = text[body_start(text) :]
    claim = Sentence(0, 0, len(body), body)
    holder = source.best(claim.content)
    if holder is None or source.coverage(claim.content, holder) < _HOLDS:
        return None
    said = {token.form for token in claim.tokens}
    for rule in rng.sample(_RULES, len(_RULES)):
        drafts = [
            draft for draft in rule(holder.text, source, rng) if _touches(holder, draft, said)
        ]
        for draft in rng.sample(drafts, len(drafts)):
            change = realise(holder.text, draft, source, Rejections())
            if change and (altered := _everywhere(claim, holder, draft, change, source)):
                return altered
    return None


def _touches(holder: Sentence, draft: Draft, said: set[str]) -> bool:
    """Return whether the draft changes what the text says: its value, or the verb of its clause."""
    edit = draft.edits[0]
    near = holder.near(edit.start, edit.end) & said
    if draft.kind == "negation":
        return len(near) >= _VERB_WORDS
    old, new = _forms(holder.text[edit.start : edit.end]), _forms(edit.new)
    return bool(old and near) and old <= said and not new & said


def _everywhere(
    claim: Sentence, holder: Sentence, draft: Draft, change: Change, source: Source
) -> tuple[str, ...] | None:
    """Apply the change to every sentence that states the fact; None where one cannot follow."""
    old = holder.text[draft.edits[0].start : draft.edits[0].end]
    negated, forms = draft.kind == "negation", _forms(old)
    if draft.kind == "entity" and len(source.holding(forms)) > _TOPIC:
        return None
    edits = [(holder, change.text)]
    for sentence in source.sentences:
        if sentence is holder:
            continue
        shared = source.coverage(claim.content, sentence)
        if negated:
            if shared >= _HOLDS:
                return None
        elif shared >= _SAME_FACT and forms <= {t.form for t in sentence.tokens}:
            text = re.sub(
                rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: draft.edits[0].new, sentence.text
            )
            if text == sentence.text:  # written in another form
                return None
            edits.append((sentence, text))
    return _rewrite(source.documents, edits)


def _forms(value: str) -> set[str]:
    return {canonical(word.form) for word in words(value)}


def remove_support(text: str, context: Sequence[str]) -> tuple[str, ...] | None:
    """Remove from the context the sentences that hold what the text says.

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
        if any(_holds(claim, sentence, source) for claim in claims)
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
    documents = _rewrite(
        source.documents, [(source.sentences[index], "") for index in sorted(removed)]
    )
    kept = tuple(document for document in documents if document.strip())
    return kept or None


def _holds(claim: frozenset[str], sentence: Sentence, source: Source) -> bool:
    return source.coverage(claim, sentence) >= _SAME_FACT


def _rewrite(documents: tuple[str, ...], edits: list[tuple[Sentence, str]]) -> tuple[str, ...]:
    """Replace sentences by new texts; one that is removed takes the space behind it along."""
    new = list(documents)
    for sentence, text in sorted(edits, key=lambda edit: -edit[0].start):
        document = new[sentence.document]
        end = sentence.end
        if not text:
            while document[end : end + 1] in (" ", "\t") and document[end : end + 1]:
                end += 1
        new[sentence.document] = document[: sentence.start] + text + document[end:]
    return tuple(new)
