"""LiteLLM: a guardrail of its proxy, after the call, for requests that bring their documents."""

from __future__ import annotations

from typing import Any

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.registry import DEFAULT_JUDGE

from .grounding import Grounding, read_example, reason

try:
    from litellm.exceptions import GuardrailRaisedException
    from litellm.integrations.custom_guardrail import CustomGuardrail
except ImportError:
    raise MissingExtra("LiteLLM", "litellm") from None


class GroundednessGuardrail(CustomGuardrail):
    """Refuses a response that the request's `metadata.documents` do not support.

    In the proxy's configuration `guardrail` names this class by its full path, with `mode:
    post_call`. A request without documents passes unjudged; no score is a refusal.
    """

    def __init__(self, judge: str = DEFAULT_JUDGE, **options: Any) -> None:
        """Load the judge; the options are LiteLLM's."""
        super().__init__(**options)
        self._grounding = Grounding(judge)

    async def async_post_call_success_hook(
        self, data: dict[str, Any], user_api_key_dict: Any, response: Any
    ) -> Any:
        """Judge each choice's text."""
        del user_api_key_dict
        documents = (data.get("metadata") or {}).get("documents") or ()
        for choice in response.choices if documents else ():
            if text := choice.message.content:
                verdict = await self._grounding.acheck(read_example(text, documents))
                if verdict.score != "PASS":
                    raise GuardrailRaisedException(self.guardrail_name, reason(verdict))
        return response
