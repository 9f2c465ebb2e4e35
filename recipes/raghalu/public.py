"""Sentences of Dolly and TruthfulQA, which the paper annotated anew (appendix A.1).

Those labels are not available, so these come from the published sets by rules: read some of them
before they are trained on.
"""

from collections.abc import Iterator
from pathlib import Path

from moonlynx.halubench.perturb import remove_support
from moonlynx.halubench.sources.base import Hub
from moonlynx.halubench.sources.hub import read_hub
from moonlynx.judge.contract.types import Record, Text
from moonlynx.judge.files.journal import read_records
from moonlynx.judge.text import split_sentences

from .brand import BrandSentence

DOLLY = Hub("databricks/databricks-dolly-15k", "train", "CC BY-SA 3.0")
TRUTHFUL_QA = Hub("truthfulqa/truthful_qa", "validation", "Apache-2.0", "generation")


class Article(Record):
    """The text behind one of TruthfulQA's `source` addresses."""

    source: Text
    text: Text


def read_dolly() -> Iterator[BrandSentence]:
    """Yield the sentences of answers to closed questions, with their support and without.

    As in the paper, what is hallucinated is the context that no longer holds the answer; its other
    way, a context that says otherwise, is left out.

    Raises:
        MissingExtra, SourceError: the set cannot be loaded.
    """
    for row in read_hub(DOLLY)[0]:
        context = (row["context"],)
        if row["category"] != "closed_qa" or not row["context"].strip():
            continue
        for piece in split_sentences(row["response"]):
            if rest := remove_support(piece.text, context):
                for label, documents in (("SUPPORTED", context), ("UNSUPPORTED", rest)):
                    given = {"sentence": piece.text, "label": label, "context": documents}
                    yield BrandSentence.model_validate(given | {"question": row["instruction"]})


def read_truthful_qa(articles: Path) -> Iterator[BrandSentence]:
    """Yield answers beside the article that their question is about, right ones as supported.

    The set's labels are of the truth, and the article need not hold it.

    Args:
        articles: JSON Lines of `Article`s; questions without one are left out.

    Raises:
        BadInput: a line is no article.
        MissingExtra, SourceError: the set cannot be loaded.
    """
    texts = {article.source: article.text for article in read_records(articles, Article)}
    for row in read_hub(TRUTHFUL_QA)[0]:
        for label, field in (
            ("SUPPORTED", "correct_answers"),
            ("UNSUPPORTED", "incorrect_answers"),
        ):
            for answer in row[field] if row["source"] in texts else ():
                given = {"sentence": answer, "label": label, "context": texts[row["source"]]}
                yield BrandSentence.model_validate(given | {"question": row["question"]})
