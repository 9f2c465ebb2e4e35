import numpy as np
import pytest

from moonlynx.judge.backends.base import EmbeddingError
from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.detectors.semantic_similarity import (
    DEFAULT_THRESHOLDS,
    SemanticSimilarity,
)

HALF = 3**0.5 / 2
VECTORS = {
    "It opened in May.": (1, 0, 0),
    "It is tall.": (0, 1, 0),
    "Dogs are allowed.": (0, 0, 1),
    "May was when it opened.": (1, 0, 0),
    "It opened, rather tall, in May.": (HALF, 0.5, 0),
    "Cats are banned.": (0, 0, -1),
}


class TableOfVectors:
    name = version = "table"

    def __init__(self, refused=()):
        self.asked = []
        self.refused = refused

    def embed(self, texts):
        assert texts
        self.asked.append(list(texts))
        for text in texts:
            if text in self.refused:
                raise EmbeddingError(self.refused[text], f"{text} was refused")
        return np.array([VECTORS[text] for text in texts], dtype=np.float32)


DOCUMENTS = ("It opened in May. It is tall.", "Dogs are allowed.")


def ask(answer, context=DOCUMENTS, **fields):
    return Example(context=context, answer=answer, **fields)


def test_a_sentence_is_as_far_as_its_nearest_document_sentence_within_0_and_1():
    judge = SemanticSimilarity(TableOfVectors())
    (verdict,) = judge([ask("May was when it opened. It opened, rather tall, in May. Hello!")])
    same, near, hello = verdict.sentences
    assert (same.raw_score, same.label) == (0.0, "SUPPORTED")
    assert near.raw_score == pytest.approx(1 - HALF, abs=1e-4)
    assert (hello.raw_score, hello.label) == (None, "NO_INFO")
    assert verdict.raw_score == near.raw_score
    assert (verdict.judge.name, verdict.judge.version) == ("semantic-similarity", "1-table")
    judge = SemanticSimilarity(TableOfVectors())
    (verdict,) = judge([ask("Cats are banned.", "Dogs are allowed.")])
    assert (verdict.raw_score, verdict.score) == (1.0, "FAIL")
    assert [span.text for span in verdict.spans] == ["Cats are banned."]


def test_evidence_is_what_would_support_alone_with_its_document():
    answer = ask("It opened, rather tall, in May.")

    def evidence(threshold):
        (verdict,) = SemanticSimilarity(TableOfVectors(), threshold)([answer])
        return [answer.context[e.document][e.start : e.end] for e in verdict.sentences[0].evidence]

    assert evidence(0.6) == ["It opened in May.", "It is tall."]
    assert evidence(DEFAULT_THRESHOLDS["sentences"]) == ["It opened in May."]
    assert evidence(0.1) == []
    judge = SemanticSimilarity(TableOfVectors())
    (verdict,) = judge([ask("Dogs are allowed.", ["", " \n", "Dogs are allowed."])])
    assert [e.document for e in verdict.sentences[0].evidence] == [2]


def test_wholes_are_compared_as_the_article_does():
    VECTORS["\n\n".join(DOCUMENTS)] = (HALF, 0, 0.5)
    answers = [ask("May was when it opened."), ask("Hello!"), ask("It is tall.", id="c")]
    judge = SemanticSimilarity(TableOfVectors(), 0.5, compare="whole")
    near, nothing, far = judge(answers)
    assert (near.score, near.raw_score) == ("PASS", pytest.approx(1 - HALF, abs=1e-4))
    assert near.reasoning == ("The answer has cosine 0.87 with the documents together.",)
    assert (nothing.score, nothing.sentences[0].label) == ("PASS", "NO_INFO")
    assert (far.score, far.raw_score, far.id, far.sentences) == ("FAIL", 1.0, "c", ())
    assert near.judge.version == "1-table-whole"
    refused = TableOfVectors(refused={"It is tall.": "too_long"})
    verdicts = SemanticSimilarity(refused, compare="whole")(answers)
    assert [verdict.score for verdict in verdicts] == ["PASS", "PASS", None]


def test_sentences_are_embedded_once_and_few_documents_are_kept():
    table = TableOfVectors()
    judge = SemanticSimilarity(table)
    first = judge([ask("It is tall."), ask("Cats are banned. It is tall.")])
    assert len(table.asked) == 1
    assert sorted(table.asked[0]) == sorted(
        {"It opened in May.", "It is tall.", "Dogs are allowed.", "Cats are banned."}
    )
    again = judge([ask("It is tall.")])
    assert again == first[:1]
    assert table.asked[1] == ["It is tall."]
    judge([ask("Hello!")])
    assert len(table.asked) == 2
    table = TableOfVectors()
    VECTORS.update({f"Line {n} is here.": (1, 0, 0) for n in range(200)})
    judge = SemanticSimilarity(table)
    judge([ask("It is tall.", [f"Line {n} is here." for n in range(200)])])
    judge([ask("It is tall.", ["Line 199 is here."])])
    judge([ask("It is tall.", ["Line 0 is here."])])
    assert table.asked[1:] == [["It is tall."], ["Line 0 is here.", "It is tall."]]


def test_a_text_too_long_leaves_its_neighbours_alone():
    table = TableOfVectors(refused={"It is tall.": "too_long"})
    verdicts = SemanticSimilarity(table)(
        [ask("Dogs are allowed.", "Dogs are allowed."), ask("It is tall.", "It is tall.", id="b")]
    )
    assert verdicts[0].score == "PASS"
    assert (verdicts[1].score, verdicts[1].error.code, verdicts[1].id) == (None, "too_long", "b")
    assert "It is tall. was refused" in verdicts[1].error.message


@pytest.mark.parametrize("code", ["backend", "timeout"])
def test_an_outage_leaves_what_makes_claims_unscored_after_one_call(code):
    table = TableOfVectors(refused={"It is tall.": code})
    examples = [ask("Dogs are allowed."), ask("Hello!", id=2), ask("It is tall.", id=3)]
    verdicts = SemanticSimilarity(table)(examples)
    assert [v.error and v.error.code for v in verdicts] == [code, None, code]
    assert [v.score for v in verdicts] == [None, "PASS", None]
    assert [v.id for v in verdicts] == [None, 2, 3]
    assert len(table.asked) == 1
