"""`POST /v1/guardrails`: a MetricInput in, what the policy says of it out."""

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi import Body as FromBody
from pydantic import PlainValidator

from moonlynx.judge.batch.metrics import read_input
from moonlynx.judge.contract.types import MetricInput

from ..guardrails import Guarded, Guardrails
from ..http.errors import responses, strict_router
from .measuring import MetricService

PATH = "/v1/guardrails"
Body = Annotated[MetricInput, PlainValidator(read_input, json_schema_input_type=dict[str, Any])]


def routes(metrics: MetricService, guardrails: Guardrails) -> APIRouter:
    """Return the routes."""
    router = strict_router()
    names = guardrails.policy.metrics

    @router.get(PATH, summary="Which policy is served?")
    async def policy() -> dict[str, object]:
        return guardrails.policy.model_dump(mode="json")

    @router.post(
        PATH,
        response_model=Guarded,
        responses=responses(422, 429, 504),
        summary="Judge a text by the policy: pass, flag, mask or block",
    )
    async def judge(request: Request, body: Annotated[Body, FromBody()]) -> Response:
        verdicts = {name: (await metrics.measure(request, name, [body]))[0] for name in names}
        found = guardrails.decide(body, verdicts)
        return Response(found.model_dump_json(), media_type="application/json")

    return router
