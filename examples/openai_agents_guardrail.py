"""OpenAI Agents SDK: a guardrail for an agent's answers, run here by itself without a model."""

import asyncio

from agents import Agent, RunContextWrapper

from moonlynx.serve.integrations.openai_agents import groundedness_guardrail

guardrail = groundedness_guardrail(lambda context: context["documents"], "luna")
agent = Agent(name="guide", output_guardrails=[guardrail])
context = RunContextWrapper({"documents": ["The bridge is 90 m long and was opened in 1932."]})
for answer in ("The bridge opened in 1932.", "Tourists adore its golden lanterns."):
    result = asyncio.run(guardrail.run(context, agent, answer))
    print("halted" if result.output.tripwire_triggered else "let out")
# let out
# halted
