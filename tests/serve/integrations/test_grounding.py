import asyncio

import pytest

from moonlynx import BadInput, Example, Unscored, Verdict, load_judge
from moonlynx.serve.integrations.explain import explain
from moonlynx.serve.integrations.grounding import Grounding, faithfulness, read_example, reason

from ...cases import cases
from .rows import CONTEXT, JUDGE, RIGHT

INFO = load_judge(JUDGE).info
FAILED = {"score": None, "error": {"code": "timeout", "message": "took too long"}}


def verdict(**fields):
    return Verdict.model_validate({"judge": INFO, **fields})


class Remote:
    """A judge with an async twin, which alone may be called from an event loop."""

    info = INFO

    def __call__(self, examples):
        raise AssertionError("the event loop would be blocked")

    async def acall(self, examples):
        return [verdict(score="PASS") for _ in examples]


def test_a_remote_judge_is_awaited_and_what_has_no_score_gets_no_number():
    example = read_example(RIGHT, CONTEXT)
    assert asyncio.run(Grounding(Remote()).acheck(example)).score == "PASS"
    with pytest.raises(Unscored, match="took too long"):
        faithfulness(verdict(**FAILED))
    assert reason(verdict(**FAILED)) == "timeout: took too long"
    with pytest.raises(BadInput, match="context"):
        read_example(RIGHT, iter([]))


@pytest.mark.parametrize(("fields", "expected"), cases(__file__, "faithfulness"))
def test_faithfulness_is_calibrated_where_the_judge_is(fields, expected):
    assert faithfulness(verdict(**fields)) == expected


def test_an_explanation_underlines_what_is_wrong():
    example = Example(
        context=("Nothing.", "The 港 bridge was built in 1849 by Anna Weiss."),
        answer="The bridge was built in 1849. At the 港 bridge\tPeter Smith tore towers down.",
    )
    (found,) = load_judge(JUDGE)([example])
    assert explain(example, found).splitlines() == [
        "1 of 2 sentences not supported by the context (token-similarity 1-overlap)",
        "",
        "sentence 2, characters 30–75:",
        "  At the 港 bridge Peter Smith tore towers down.",
        "                   ^^^^^^^^^^^^^^^^^^^^^^^",
        "closest evidence (document 2, characters 0–45):",
        "  The 港 bridge was built in 1849 by Anna Weiss.",
    ]


def test_an_explanation_shows_what_a_terminal_would_obey():
    answer = "It was \x1b[32mPASSED\x1b[0m.\nBy \u202eAnna\u202c,\ronce."
    example = Example(context="Nothing\x1b[2J.", answer=answer)
    wrong = {"start": 12, "end": 18, "text": "PASSED"}, {"start": 0, "end": 1, "text": "I"}
    sentence = {"start": 0, "end": len(answer), "label": "UNSUPPORTED"}
    sentence["evidence"] = [{"document": 0, "start": 0, "end": 12, "relation": "support"}]
    shown = explain(example, verdict(score="FAIL", sentences=[sentence], spans=wrong))
    assert shown.splitlines()[3:] == [
        r"  It was \x1b[32mPASSED\x1b[0m. By U+202EAnnaU+202C,\x0donce.",
        r"  ^              ^^^^^^",
        "closest evidence (document 1, characters 0–12):",
        r"  Nothing\x1b[2J.",
    ]
    shown = explain(example, verdict(score="FAIL", reasoning=["a\x1b[2J\nsentence 1: fine"]))
    assert shown.endswith("\n- a\\x1b[2J\\x0asentence 1: fine")


def test_the_closest_evidence_is_found_for_judges_that_name_none():
    example = Example(context=tuple(CONTEXT), answer="The bridge was built in 1950.")
    sentence = {"start": 0, "end": 29, "label": "UNSUPPORTED"}
    text = explain(example, verdict(score="FAIL", sentences=[sentence]))
    assert "closest evidence (document 1, characters 0–43):\n  The bridge was built" in text
    strange = Example(context=("Zebras graze.",), answer=example.answer)
    text = explain(strange, verdict(score="FAIL", sentences=[sentence]))
    assert "no document shares a word with it" in text


def test_a_judge_of_whole_answers_is_explained_by_its_reasons():
    example = Example(context=tuple(CONTEXT), answer="word " * 40)
    text = explain(example, verdict(score="FAIL", probability=0.9, reasoning=["Nothing of it."]))
    assert text.startswith("The answer is not supported by its context (token-similarity")
    assert "P(hallucinated) 0.90" in text
    assert text.endswith("\n- Nothing of it.")
    assert max(map(len, text.splitlines()[1:])) <= 90
