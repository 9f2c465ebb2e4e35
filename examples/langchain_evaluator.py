"""LangChain: the evaluator as `langsmith`'s `evaluate` calls it."""

from moonlynx.serve.integrations.langchain import groundedness_evaluator

groundedness = groundedness_evaluator("luna")
inputs = {"question": "When did the bridge open?"}
for answer in ("The bridge opened in 1932.", "The bridge opened in 1950."):
    outputs = {"answer": answer, "context": ["The bridge is 90 m long and was opened in 1932."]}
    result = groundedness(inputs, outputs)
    print(result["key"], "good" if result["score"] > 0.5 else "bad")
# groundedness good
# groundedness bad
