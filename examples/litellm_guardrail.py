"""LiteLLM: what its proxy does with a response after the call, on a mocked one."""

import asyncio

import litellm
from litellm.exceptions import GuardrailRaisedException

from moonlynx.serve.integrations.litellm import GroundednessGuardrail

guardrail = GroundednessGuardrail("luna", guardrail_name="grounded", event_hook="post_call")
request = {"metadata": {"documents": ["The bridge is 90 m long and was opened in 1932."]}}


async def ask(answer: str) -> str:
    messages = [{"role": "user", "content": "What of the bridge?"}]
    response = await litellm.acompletion("gpt-4o", messages, mock_response=answer)
    try:
        await guardrail.async_post_call_success_hook(request, None, response)
    except GuardrailRaisedException:
        return "refused"
    return "let out"


for answer in ("The bridge opened in 1932.", "Tourists adore its golden lanterns."):
    print(asyncio.run(ask(answer)))
# let out
# refused
