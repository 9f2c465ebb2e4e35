"""LangGraph: a node that sends an answer on where its documents support it, else elsewhere."""

from __future__ import annotations

from typing import Any

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.base import Judge
from moonlynx.judge.contract.types import Verdict
from moonlynx.judge.registry import DEFAULT_JUDGE

from .grounding import Grounding, read_state

try:
    from langchain_core.runnables import Runnable, RunnableLambda
    from langgraph.types import Command
except ImportError:
    raise MissingExtra("LangGraph", "langgraph") from None


def groundedness_node(
    judge: str | Judge = DEFAULT_JUDGE, *, passed: str, failed: str
) -> Runnable[Any, Command[str]]:
    """Return a node over a state with `answer`, `context`, `verdict` and perhaps `question`.

    It sets `verdict`, and goes on at the node `passed` on PASS, and at `failed` on all else: there
    the graph can answer anew, retrieve more or refuse. Name both as the node's `destinations`.
    """
    grounding = Grounding(judge)

    def go(verdict: Verdict) -> Command[str]:
        return Command(
            update={"verdict": verdict}, goto=passed if verdict.score == "PASS" else failed
        )

    def node(state: dict[str, Any]) -> Command[str]:
        return go(grounding.check(read_state(state)))

    async def anode(state: dict[str, Any]) -> Command[str]:
        return go(await grounding.acheck(read_state(state)))

    return RunnableLambda(node, afunc=anode, name="groundedness")
