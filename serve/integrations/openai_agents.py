"""OpenAI Agents SDK: an output guardrail that trips on an answer without support."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.base import Judge
from moonlynx.judge.registry import DEFAULT_JUDGE

from .grounding import Grounding, read_example

try:
    from agents import Agent, GuardrailFunctionOutput, OutputGuardrail, RunContextWrapper
except ImportError:
    raise MissingExtra("The OpenAI Agents SDK", "openai-agents") from None


def groundedness_guardrail(
    documents: Callable[[Any], str | Iterable[str]], judge: str | Judge = DEFAULT_JUDGE
) -> OutputGuardrail[Any]:
    """Return a guardrail for an agent's `output_guardrails`.

    `documents` takes the run's context, where tools have put what they retrieved, and returns the
    texts. All but PASS trips the wire, a verdict without a score too; it is the `output_info`.
    """
    grounding = Grounding(judge)

    async def groundedness(
        context: RunContextWrapper[Any],
        agent: Agent[Any],  # noqa: ARG001 (guardrails are given it)
        output: Any,
    ) -> GuardrailFunctionOutput:
        example = read_example(str(output), documents(context.context))
        verdict = await grounding.acheck(example)
        return GuardrailFunctionOutput(verdict, tripwire_triggered=verdict.score != "PASS")

    return OutputGuardrail(groundedness)
