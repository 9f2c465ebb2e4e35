import pytest

from moonlynx.judge.contract.types import Evidence, Example, JudgeError, JudgeInfo, Usage
from moonlynx.judge.judges.findings import Finding, mean_of, to_verdict
from moonlynx.judge.text import split_sentences

INFO = JudgeInfo(name="test", version="1")
ERROR = JudgeError(code="unparsed", message="no score")
TRUNCATED = JudgeError(code="truncated", message="cut")
EXAMPLE = Example(
    id=7,
    context="The tower opened in 1932. It is red.",
    answer="Hello! It opened in 1932. It is made of tin.",
)
HELLO, OPENED, TIN = split_sentences(EXAMPLE.answer)
EVIDENCE = (Evidence(document=0, start=0, end=25, relation="support"),)


def test_one_unsupported_sentence_fails_the_answer():
    findings = [
        Finding(HELLO, None),
        Finding(OPENED, 0.1, "is near", EVIDENCE),
        Finding(TIN, 0.9, "is far", EVIDENCE),
    ]
    verdict = to_verdict(EXAMPLE, INFO, findings, 0.5, Usage(calls=2))
    assert (verdict.id, verdict.score, verdict.raw_score) == (7, "FAIL", 0.9)
    assert verdict.probability is None
    assert verdict.error is None
    assert [s.label for s in verdict.sentences] == ["NO_INFO", "SUPPORTED", "UNSUPPORTED"]
    assert [s.raw_score for s in verdict.sentences] == [None, 0.1, 0.9]
    # What supports nothing is no evidence.
    assert [s.evidence for s in verdict.sentences] == [(), EVIDENCE, ()]
    assert [span.text for span in verdict.spans] == ["It is made of tin."]
    assert verdict.reasoning == (
        "NO_INFO: “Hello!” makes no claim that documents could support.",
        "SUPPORTED: “It opened in 1932.” is near.",
        "UNSUPPORTED: “It is made of tin.” is far.",
    )
    assert verdict.usage == Usage(calls=2)


@pytest.mark.parametrize(
    ("raw", "score", "label"),
    [(0.5, "FAIL", "UNSUPPORTED"), (0.49996, "FAIL", "UNSUPPORTED"), (0.4999, "PASS", "SUPPORTED")],
)
def test_the_threshold_itself_fails_by_the_score_that_is_shown(raw, score, label):
    verdict = to_verdict(EXAMPLE, INFO, [Finding(OPENED, raw, "is so")], 0.5)
    assert (verdict.score, verdict.sentences[0].label) == (score, label)
    assert verdict.raw_score == verdict.sentences[0].raw_score == round(raw, 4)


def test_long_sentences_are_quoted_short_and_marked_ranges_are_spans():
    example = Example(context="x", answer="word " * 40 + "end.")
    (piece,) = split_sentences(example.answer)
    (reason,) = to_verdict(example, INFO, [Finding(piece, 1.0, "is far")], 0.5).reasoning
    assert reason.startswith("UNSUPPORTED: “word word")
    assert reason.endswith("word…” is far.")
    assert len(reason) < 120
    tin = EXAMPLE.answer.index("tin")
    findings = [Finding(TIN, 0.9, "is far", marked=((tin, tin + 3),))]
    assert [span.text for span in to_verdict(EXAMPLE, INFO, findings, 0.5).spans] == ["tin"]
    assert to_verdict(EXAMPLE, INFO, findings, 0.95).spans == ()


@pytest.mark.parametrize(
    ("scores", "mean"),
    [
        ([0.0, 1.0], 0.5),
        ([1.0, ERROR], 0.5),  # it stands whatever the other would have been
        ([1.0, 0.0, ERROR], ERROR),
        ([0.0, 0.0, ERROR], ERROR),  # never taken for support
        ([ERROR, TRUNCATED], ERROR),
        ([TRUNCATED, ERROR, 0.0], TRUNCATED),
    ],
)
def test_the_mean_of_scores_of_which_some_are_missing(scores, mean):
    assert mean_of(scores, 0.5) == mean


def verdict(*scores):
    return to_verdict(EXAMPLE, INFO, list(map(Finding, (HELLO, OPENED, TIN), scores)), 0.5)


def test_a_sentence_without_a_score_leaves_the_answer_unscored_unless_another_is_unsupported():
    for scores in ((0.0, ERROR, 0.0), (None, ERROR, None), (ERROR, ERROR, ERROR)):
        found = verdict(*scores)
        assert (found.score, found.error.code, found.sentences) == (None, "unparsed", ())
    assert verdict(0.0, TRUNCATED, ERROR).error.code == "truncated"
    assert "the sentence at 7" in verdict(0.0, TRUNCATED, ERROR).error.message
    found = verdict(ERROR, 0.9, 0.1)
    assert (found.score, found.raw_score, found.error) == ("FAIL", 0.9, None)
    assert [sentence.label for sentence in found.sentences] == ["UNSUPPORTED", "SUPPORTED"]
    assert found.reasoning[-1] == "UNSCORED: “Hello!” no score."
