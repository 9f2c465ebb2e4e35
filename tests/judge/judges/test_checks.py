"""What an answer cites and denies is checked, by any judge that reads claims beside documents."""

import json
from pathlib import Path

import pytest

from moonlynx import Example, load_judge
from moonlynx.judge.contract.spec import SpecError
from moonlynx.judge.contract.types import ExitCode

from ...command import moonlynx

WORLDS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "asked" / "worlds.jsonl").read_text().splitlines()
]
DOCUMENTS = ["Fees\nEntry costs 12 euros.", "Hours\nThe museum opens at 9:00.", " "]


@pytest.fixture(scope="module")
def similar():
    return load_judge("token-similarity")


def judged(judge, answer, context=DOCUMENTS, question=""):
    (verdict,) = judge([Example(question=question, context=context, answer=answer)])
    return verdict


def statuses(verdict):
    return [(one.document, one.status) for one in verdict.citations]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Entry costs 12 euros [1].", [(0, "supported")]),
        ("Entry costs 12 euros [2].", [(1, "supported_elsewhere")]),
        ("Entry costs 12 euros [3].", [(2, "supported_elsewhere")]),
        ("Entry costs 12 euros [4].", [(None, "dangling")]),
        ("Parrots sing operas [1].", [(0, "unsupported")]),
        ("Entry costs 12 euros [1][2].", [(0, "supported"), (1, "supported_elsewhere")]),
        (
            "Entry costs 12 euros, and the museum opens at 9:00 [1, 2].",
            [(0, "supported"), (1, "supported")],
        ),
        (
            "Entry costs 12 euros. The museum opens at 9:00.\n\nSources: [1], [2]",
            [(0, "supported"), (1, "supported")],
        ),
        ("Entry costs 12 euros. (Source: Hours)", [(1, "supported_elsewhere")]),
        ("I hope this helps [1].", [(0, None)]),
        ("Entry costs 12 euros.", []),
    ],
)
def test_each_citation_has_a_status(similar, answer, expected):
    verdict = judged(similar, answer)
    assert statuses(verdict) == expected
    assert all(answer[one.start : one.end].strip() for one in verdict.citations)


def test_a_sentence_may_cite_thousands_of_times(similar):
    answer = "It is a lamp " + "[1]" * 5_000 + " and a table."
    (verdict,) = similar([Example(context=["It is a lamp and a table."], answer=answer)])
    assert {one.status for one in verdict.citations} == {"supported"}


def test_a_judge_of_whole_answers_checks_no_citations(script):
    with pytest.raises(SpecError, match="does not check citations"):
        load_judge(f"lynx@fake?script={script({'text': '{}'})}&citations=required")


@pytest.mark.parametrize(
    ("answer", "score", "reason"),
    [
        ("Entry costs 12 euros [1]. I hope this helps!", "PASS", None),
        ("Entry costs 12 euros.\n\nSource: Fees", "PASS", None),
        ("Entry costs 12 euros.", "FAIL", "UNCITED: “Entry costs 12 euros.” cites nothing that"),
        ("Entry costs 12 euros [2].", "FAIL", "MISCITED: “Entry costs 12 euros [2].” cites doc"),
        ("Entry costs 12 euros [9].", "FAIL", "cites a document that does not exist"),
    ],
)
def test_citations_may_be_required(answer, score, reason):
    verdict = judged(load_judge("token-similarity?citations=required"), answer)
    assert verdict.score == score
    if reason:
        assert reason in verdict.reasoning[0]
        assert (verdict.stages[0].judge, verdict.stages[0].decided) == ("citations", True)
        assert verdict.probability is None
        assert verdict.faithfulness == 1.0


def test_the_command_requires_citations():
    args = ["judge", "--judge", "token-similarity", "--context", "Entry costs 12 euros."]
    args += ["--answer", "Entry costs 12 euros.", "--format", "json", "--fail-on-hallucination"]
    assert moonlynx(*args).exit_code == ExitCode.DONE
    assert moonlynx(*args, "--require-citations").exit_code == 4
    cascade = [*args[:2], "cascade(luna,luna)", *args[3:], "--require-citations"]
    assert moonlynx(*cascade).exit_code == ExitCode.USAGE


def test_a_false_refusal_fails_and_names_the_passage():
    judge = load_judge("luna:mini")
    context = ["Hours\nThe museum opens at 9:00. It is closed on Mondays."]
    false = judged(judge, "The documents do not say when the museum opens.", context)
    (sentence,) = false.sentences
    assert (false.score, sentence.label, sentence.kind) == (
        "FAIL",
        "UNSUPPORTED",
        "false_refusal",
    )
    (found,) = sentence.evidence
    assert found.relation == "conflict"
    assert context[0][found.start : found.end] == "The museum opens at 9:00."
    assert (false.probability, false.faithfulness) == (None, 0.0)
    assert false.stages[0].judge == "refusals"
    true = judged(judge, "The documents do not say who built the museum.", context)
    assert (true.score, true.sentences[0].label, true.faithfulness) == ("PASS", "NO_INFO", None)
    question = "When does the museum open?"
    asked = judged(judge, "The documents do not mention it.", context, question)
    assert asked.score == "FAIL"


def test_a_copy_that_turns_a_sentence_round_fails():
    judge = load_judge("token-similarity")
    context = ["The museum opened in 1972. It is not open on Mondays. Tickets cost 12 euros."]
    found = judged(judge, "It is open on Mondays [1].", context)
    (sentence,), (span,) = found.sentences, found.spans
    assert (found.score, sentence.label, sentence.kind, found.faithfulness) == (
        "FAIL",
        "UNSUPPORTED",
        "contradicted",
        0.0,
    )
    (evidence,) = sentence.evidence
    assert context[0][evidence.start : evidence.end] == "It is not open on Mondays."
    assert (evidence.relation, span.text) == ("conflict", "is open")
    assert found.reasoning[0] == (
        "CONTRADICTED: “It is open on Mondays [1].” says “is open”, and a document “is not open”."
    )
    assert found.stages[0].judge == "near-copies"
    assert judged(judge, "It is not open on Mondays.", context).score == "PASS"
    both = [*context, "In summer it is open on Mondays."]
    assert judged(judge, "It is open on Mondays.", both).score == "PASS"


LEAST = {"citations": 57, "markup": 28, "denials": 25, "graded": 56}  # of 60, 30, 30 and 60


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["luna", "luna:mini"])
def test_rows_written_for_it(name):
    judge = load_judge(name)
    right = dict.fromkeys(LEAST, 0)
    for world in WORLDS:
        context = world["context"]
        for row in world["citations"]:
            found = statuses(judged(judge, row["answer"], context))
            right["citations"] += found == [tuple(one) for one in row["citations"]]
        for kind in ("markup", "denials"):
            for row in world[kind]:
                verdict = judged(judge, row["answer"], context, row.get("question", ""))
                right[kind] += verdict.score == row["label"]
        for row in world["graded"]:
            verdict = judged(judge, " ".join(row["sentences"]), context)
            share = sum(row["supported"]) / len(row["supported"])
            right["graded"] += verdict.faithfulness == pytest.approx(share, abs=1e-4)
            assert all(one.probability is not None for one in verdict.sentences)
            assert all(one.probability is not None for one in verdict.spans)
    assert all(right[kind] >= least for kind, least in LEAST.items()), right


@pytest.mark.heavy
def test_contradicted_is_told_from_not_mentioned():
    judge = load_judge("luna")
    right = told = 0
    for world in WORLDS:
        for row in world["kinds"]:
            (sentence,) = judged(judge, row["answer"], world["context"]).sentences
            if sentence.label == "UNSUPPORTED":
                told += 1
                right += sentence.kind == row["kind"]
                conflicts = [one for one in sentence.evidence if one.relation == "conflict"]
                assert len(conflicts) == (sentence.kind == "contradicted")
    assert told >= 48
    assert right >= 0.8 * told
