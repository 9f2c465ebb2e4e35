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
    """Yield the sentences of answers to closed questions, each with its support and without.

    So the paper made hallucinations of them; contexts that say otherwise, as it has too, are not
    made. Raises as `read_hub`.
    """
    for row in read_hub(DOLLY)[0]:
        whole, question = (row["context"],), row["instruction"]
        if row["category"] == "closed_qa" and row["context"].strip():
            for piece in split_sentences(row["response"]):
                if rest := remove_support(piece.text, whole):
                    said = {"sentence": piece.text, "question": question}
                    yield BrandSentence(label="SUPPORTED", context=whole, **said)
                    yield BrandSentence(label="UNSUPPORTED", context=rest, **said)


def read_truthful_qa(articles: Path) -> Iterator[BrandSentence]:
    """Yield answers beside the article on their question, true ones as supported: it may lack them.

    `articles` holds JSON Lines of `Article`s; questions without one are left out. Raises as
    `read_hub` and `read_records`.
    """
    texts = {article.source: article.text for article in read_records(articles, Article)}
    for row in read_hub(TRUTHFUL_QA)[0]:
        if text := texts.get(row["source"]):
            said = {"context": (text,), "question": row["question"]}
            for answer in row["correct_answers"]:
                yield BrandSentence(label="SUPPORTED", sentence=answer, **said)
            for answer in row["incorrect_answers"]:
                yield BrandSentence(label="UNSUPPORTED", sentence=answer, **said)
