import asyncio
from typing import Any, TypedDict

import pytest

from .rows import CONTEXT, JUDGE, QUESTION, RIGHT, WRONG, Silent

pytest.importorskip("langgraph", reason="needs moonlynx[langgraph]")

from langgraph.graph import END, START, StateGraph

from moonlynx.serve.integrations.langgraph import groundedness_node

pytestmark = pytest.mark.heavy


class State(TypedDict, total=False):
    question: str
    context: list[str]
    answer: str
    verdict: Any


def graph(answer, judge=JUDGE):
    built = StateGraph(State)
    built.add_node("generate", lambda state: {"answer": answer})
    node = groundedness_node(judge, passed=END, failed="refuse")
    built.add_node("judge", node, destinations=("refuse", END))
    built.add_node("refuse", lambda state: {"answer": "I do not know."})
    built.add_edge(START, "generate")
    built.add_edge("generate", "judge")
    return built.compile()


ASKED = {"question": QUESTION, "context": CONTEXT}


@pytest.mark.parametrize(
    ("answer", "judge", "left", "score"),
    [
        (RIGHT, JUDGE, RIGHT, "PASS"),
        (WRONG, JUDGE, "I do not know.", "FAIL"),
        (RIGHT, Silent(), "I do not know.", None),
    ],
)
def test_the_graph_goes_on_where_the_answer_is_supported(answer, judge, left, score):
    state = graph(answer, judge).invoke(ASKED)
    assert state["answer"] == left
    assert state["verdict"].score == score
    assert asyncio.run(graph(answer, judge).ainvoke(ASKED))["answer"] == left
