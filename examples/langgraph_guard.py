"""LangGraph: an answer without support goes to another node."""

from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from moonlynx.serve.integrations.langgraph import groundedness_node


class State(TypedDict, total=False):
    """What the nodes share."""

    context: list[str]
    answer: str
    verdict: Any


graph = StateGraph(State)
node = groundedness_node("luna", passed=END, failed="refuse")
graph.add_node("judge", node, destinations=("refuse", END))
graph.add_node("refuse", lambda _: {"answer": "I have no source for that."})
graph.add_edge(START, "judge")
app = graph.compile()

context = ["The bridge is 90 m long and was opened in 1932."]
for answer in ("The bridge opened in 1932.", "Tourists adore its golden lanterns."):
    print(app.invoke({"answer": answer, "context": context})["answer"])
# The bridge opened in 1932.
# I have no source for that.
