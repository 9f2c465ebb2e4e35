"""MLflow: the scorer as `mlflow.genai.evaluate(data=..., scorers=[groundedness])` calls it."""

from moonlynx.serve.integrations.mlflow import groundedness_scorer

groundedness = groundedness_scorer("luna")
for answer in ("The bridge opened in 1932.", "Tourists adore its golden lanterns."):
    outputs = {"answer": answer, "context": ["The bridge is 90 m long and was opened in 1932."]}
    feedback = groundedness(inputs={}, outputs=outputs)
    print(feedback.name, "good" if feedback.value > 0.5 else "bad")
# groundedness good
# groundedness bad
