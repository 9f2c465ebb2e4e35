"""DeepEval: a metric without an LLM, for `assert_test` and `evaluate`."""

from deepeval.test_case import LLMTestCase

from moonlynx.serve.integrations.deepeval import GroundednessMetric

metric = GroundednessMetric("luna")
for answer in ("The bridge opened in 1932.", "Tourists adore its golden lanterns."):
    case = LLMTestCase(
        input="What of the bridge?",
        actual_output=answer,
        retrieval_context=["The bridge is 90 m long and was opened in 1932."],
    )
    metric.measure(case)
    print(metric.is_successful())
# True
# False
