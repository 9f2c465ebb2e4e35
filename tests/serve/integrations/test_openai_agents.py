import asyncio

import pytest

from .rows import CONTEXT, JUDGE, RIGHT, WRONG, Silent

pytest.importorskip("agents", reason="needs moonlynx[openai-agents]")

from agents import Agent, Model, ModelResponse, OutputGuardrailTripwireTriggered, RunConfig, Runner
from agents.usage import Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from moonlynx.serve.integrations.openai_agents import groundedness_guardrail

pytestmark = pytest.mark.heavy


class Says(Model):
    """A model that says one text, in the SDK's own records."""

    def __init__(self, text):
        self.text = text

    async def get_response(self, *_, **__):
        part = ResponseOutputText(text=self.text, type="output_text", annotations=[])
        message = ResponseOutputMessage(
            id="1", content=[part], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[message], usage=Usage(), response_id="1")

    def stream_response(self, *_, **__):
        raise NotImplementedError


def run(answer, judge=JUDGE):
    guardrail = groundedness_guardrail(lambda context: context["documents"], judge)
    agent = Agent(name="guide", model=Says(answer), output_guardrails=[guardrail])
    config = RunConfig(tracing_disabled=True)
    return asyncio.run(
        Runner.run(agent, "When?", context={"documents": CONTEXT}, run_config=config)
    )


def test_an_unsupported_answer_trips_the_wire():
    assert run(RIGHT).final_output == RIGHT
    with pytest.raises(OutputGuardrailTripwireTriggered) as caught:
        run(WRONG)
    assert caught.value.guardrail_result.output.output_info.score == "FAIL"
    with pytest.raises(OutputGuardrailTripwireTriggered):
        run(RIGHT, Silent())
