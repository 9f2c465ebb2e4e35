"""The other way round: the text stays, and its support is removed from the context.

So RAGHalu's authors made hallucinated examples of Dolly's answers (appendix A.1), by "altering the
context so that it either contradicts the answer or does not contain the answer".
"""

import re
from collections.abc import Sequence

from .source import read

_SAME_FACT = 0.3  # share of a claim's content, by weight, in a sentence that states it
_DANGLING = re.compile(
    r"(?:it|he|she|they|this|that|these|those|its|his|her|their|however|also|but|such)\b",
    re.IGNORECASE,
)
_RECORD = re.compile(r"\s*[{\[|]")


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
