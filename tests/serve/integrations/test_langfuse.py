import pytest

from .rows import CONTEXT, JUDGE, QUESTION, RIGHT, WRONG, Silent

pytest.importorskip("langfuse", reason="needs moonlynx[langfuse]")

from langfuse import Langfuse

from moonlynx.serve.integrations.langfuse import groundedness_evaluator

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore")]


def evaluate(answer, judge=JUDGE):
    """Run the evaluator in Langfuse's own experiment runner, which sends nothing here."""
    client = Langfuse(
        public_key="pk", secret_key="sk", host="http://127.0.0.1:9", tracing_enabled=False
    )
    result = client.run_experiment(
        name="grounded",
        data=[{"input": QUESTION}],
        task=lambda *, item, **_: {"answer": answer, "context": CONTEXT},
        evaluators=[groundedness_evaluator(judge)],
    )
    (item,) = result.item_results
    return item.evaluations


def test_an_experiment_takes_the_evaluator():
    (right,), (wrong,) = evaluate(RIGHT), evaluate(WRONG)
    assert (right.name, right.value, wrong.value) == ("groundedness", 1.0, 0.0)
    assert "Peter Smith" in wrong.comment
    assert evaluate(RIGHT, Silent()) == [], "what has no score is no evaluation"
