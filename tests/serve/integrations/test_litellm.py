import asyncio
import os

import pytest

from .rows import CONTEXT, JUDGE, RIGHT, WRONG, Silent

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the network when imported
pytest.importorskip("litellm", reason="needs moonlynx[litellm]")

import litellm
from litellm.exceptions import GuardrailRaisedException

from moonlynx.serve.integrations.litellm import GroundednessGuardrail

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore")]


def ask(answer, documents=CONTEXT, judge=JUDGE):
    """Ask LiteLLM's own mocked completion, and give it to the guardrail as the proxy does."""

    async def call():
        guardrail = GroundednessGuardrail(judge, guardrail_name="grounded", event_hook="post_call")
        messages = [{"role": "user", "content": "When was it built?"}]
        response = await litellm.acompletion("gpt-4o", messages, mock_response=answer)
        data = {"messages": messages, "metadata": {"documents": documents}}
        return await guardrail.async_post_call_success_hook(data, None, response)

    return asyncio.run(call()).choices[0].message.content


def test_an_unsupported_response_is_refused():
    assert ask(RIGHT) == RIGHT
    with pytest.raises(GuardrailRaisedException, match="Peter Smith"):
        ask(WRONG)
    assert ask(WRONG, documents=None) == WRONG, "without documents there is nothing to judge by"
    with pytest.raises(GuardrailRaisedException, match="took too long"):
        ask(RIGHT, judge=Silent())
