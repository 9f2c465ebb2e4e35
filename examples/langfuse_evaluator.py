"""Langfuse: the evaluator as `run_experiment(evaluators=[groundedness], ...)` calls it."""

from moonlynx.serve.integrations.langfuse import groundedness_evaluator

groundedness = groundedness_evaluator("luna")
for answer in ("The bridge opened in 1932.", "Tourists adore its golden lanterns."):
    output = {"answer": answer, "context": ["The bridge is 90 m long and was opened in 1932."]}
    evaluation = groundedness(input="What of the bridge?", output=output)
    print(evaluation.name, "good" if evaluation.value > 0.5 else "bad")
# groundedness good
# groundedness bad
