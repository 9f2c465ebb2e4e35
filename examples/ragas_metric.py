"""RAGAS: faithfulness without an LLM."""

from moonlynx.serve.integrations.ragas import JudgedFaithfulness

metric = JudgedFaithfulness("luna")
result = metric.score(
    user_input="What of the bridge?",
    response="The bridge opened in 1932. Tourists adore its golden lanterns.",
    retrieved_contexts=["The bridge is 90 m long and was opened in 1932."],
)
print(result.value)
# 0.5
