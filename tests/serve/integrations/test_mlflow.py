import pytest

from .rows import CONTEXT, JUDGE, QUESTION, RIGHT, WRONG, Silent

pytest.importorskip("mlflow", reason="needs moonlynx[mlflow]")

import mlflow

from moonlynx.serve.integrations.mlflow import groundedness_scorer

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def evaluate(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_GENAI_EVAL_SKIP_SCORER_VALIDATION", "true")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")

    def run(answers, judge=JUDGE):
        data = [
            {"inputs": {"question": QUESTION}, "outputs": {"answer": one, "context": CONTEXT}}
            for one in answers
        ]
        return mlflow.genai.evaluate(data=data, scorers=[groundedness_scorer(judge)])

    return run


def test_evaluate_takes_the_scorer(evaluate):
    result = evaluate([RIGHT, WRONG])
    assert result.metrics["groundedness/mean"] == 0.5
    assert "Peter Smith" in str(result.result_df["assessments"].tolist())
    assert "took too long" in str(evaluate([RIGHT], Silent()).result_df["assessments"].tolist())
