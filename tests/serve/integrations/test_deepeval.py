"""The metric in DeepEval's own `assert_test` and `evaluate`."""

import pytest

from moonlynx import Unscored

from .rows import CONTEXT, JUDGE, QUESTION, RIGHT, WRONG, Silent

pytest.importorskip("deepeval", reason="needs moonlynx[deepeval]")

from deepeval import assert_test, evaluate
from deepeval.evaluate import AsyncConfig, DisplayConfig, ErrorConfig
from deepeval.test_case import LLMTestCase

from moonlynx.serve.integrations.deepeval import GroundednessMetric

pytestmark = pytest.mark.heavy


def case(answer, context=CONTEXT):
    return LLMTestCase(input=QUESTION, actual_output=answer, retrieval_context=context)


@pytest.mark.parametrize("run_async", [True, False])
def test_assert_test_fails_on_what_is_unsupported(run_async):
    assert_test(case(RIGHT), [GroundednessMetric(JUDGE)], run_async=run_async)
    with pytest.raises(AssertionError, match="Groundedness") as caught:
        assert_test(case(WRONG), [GroundednessMetric(JUDGE)], run_async=run_async)
    assert "Peter Smith" in str(caught.value)


def run(judge, *cases, **errors):
    return evaluate(
        list(cases),
        [GroundednessMetric(judge)],
        async_config=AsyncConfig(run_async=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        error_config=ErrorConfig(**errors),
    ).test_results


def test_what_has_no_score_is_no_success():
    with pytest.raises(Unscored, match="took too long"):
        GroundednessMetric(Silent()).measure(case(RIGHT))
    (result,) = run(Silent(), case(RIGHT), ignore_errors=True)
    assert not result.success
    assert "took too long" in result.metrics_data[0].error
