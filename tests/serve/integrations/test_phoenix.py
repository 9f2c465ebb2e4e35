import asyncio

import pytest

from .rows import CONTEXT, JUDGE, RIGHT, WRONG, Silent

pytest.importorskip("phoenix.evals", reason="needs moonlynx[phoenix]")

from phoenix.evals import evaluate_dataframe

from moonlynx.serve.integrations.phoenix import GroundednessEvaluator

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore")]


def test_an_evaluator_scores_rows_and_frames():
    pandas = pytest.importorskip("pandas")
    evaluator = GroundednessEvaluator(JUDGE)
    (right,) = evaluator.evaluate({"answer": RIGHT, "context": CONTEXT})
    assert (right.name, right.score, right.label) == ("groundedness", 1.0, "PASS")
    names = {"answer": "output", "context": "documents"}
    given = {"output": WRONG, "documents": CONTEXT}
    (wrong,) = asyncio.run(evaluator.async_evaluate(given, input_mapping=names))
    assert (wrong.score, wrong.label) == (0.0, "FAIL")
    assert "Peter Smith" in wrong.explanation
    frame = pandas.DataFrame({"answer": [RIGHT, WRONG], "context": ["\n".join(CONTEXT)] * 2})
    scored = evaluate_dataframe(dataframe=frame, evaluators=[evaluator])
    assert "FAIL" in str(scored["groundedness_score"].tolist())


def test_what_has_no_score_has_no_label():
    (score,) = GroundednessEvaluator(Silent()).evaluate({"answer": RIGHT, "context": CONTEXT})
    assert (score.score, score.label, score.explanation) == (None, None, "timeout: took too long")
