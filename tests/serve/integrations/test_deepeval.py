import pytest

from moonlynx import Unscored

from .rows import CONTEXT, JUDGE, QUESTION, RIGHT, WRONG, Silent

pytest.importorskip("deepeval", reason="needs moonlynx[deepeval]")

from deepeval import assert_test
from deepeval.test_case import LLMTestCase

from moonlynx.serve.integrations.deepeval import GroundednessMetric

pytestmark = pytest.mark.heavy


def case(answer):
    return LLMTestCase(input=QUESTION, actual_output=answer, retrieval_context=CONTEXT)


@pytest.mark.parametrize("run_async", [True, False])
def test_assert_test_fails_on_what_is_unsupported(run_async):
    assert_test(case(RIGHT), [GroundednessMetric(JUDGE)], run_async=run_async)
    with pytest.raises(AssertionError, match="Groundedness") as caught:
        assert_test(case(WRONG), [GroundednessMetric(JUDGE)], run_async=run_async)
    assert "Peter Smith" in str(caught.value)


def test_what_has_no_score_is_no_success():
    with pytest.raises(Unscored, match="took too long"):
        GroundednessMetric(Silent()).measure(case(RIGHT))
