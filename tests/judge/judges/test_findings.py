import pytest

from moonlynx.judge.contract.types import Evidence, Example, JudgeInfo, Usage
from moonlynx.judge.judges.findings import Finding, to_verdict
from moonlynx.judge.text import split_sentences

INFO = JudgeInfo(name="test", version="1")
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
