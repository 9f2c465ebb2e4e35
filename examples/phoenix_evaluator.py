"""Phoenix: an evaluator without an LLM, for rows, data frames and experiments."""

from moonlynx.serve.integrations.phoenix import GroundednessEvaluator

evaluator = GroundednessEvaluator("luna")
context = ["The bridge is 90 m long and was opened in 1932."]
for answer in ("The bridge opened in 1932.", "Tourists adore its golden lanterns."):
    (score,) = evaluator.evaluate({"answer": answer, "context": context})
    print(score.name, score.label)
# groundedness PASS
# groundedness FAIL
