"""`POST /v1/judge`: an Example in, a Verdict out; a list of Examples in, a list of Verdicts out.

A bad Example is refused with 422; in a list it becomes an unscored verdict in its place.
"""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi import Body as FromBody
from pydantic import PlainValidator

from moonlynx.judge.contract.types import BadInput, Example, Verdict
from moonlynx.judge.rows.examples import Row
from moonlynx.judge.rows.fields import FieldMap, id_of, read_example

from ..http.errors import responses, strict_router
from ..service import Service, verdict_id

VERDICT_ID = "Moonlynx-Verdict-Id"  # header by which feedback names the verdict of one Example


def _read_body(fields: FieldMap, body: Any) -> Example | list[Row]:
    if isinstance(body, list):
        return [_read_row(fields, number, value) for number, value in enumerate(body, start=1)]
    if isinstance(body, dict):
        return read_example(body, fields)
    raise BadInput("bad_input", "body", "must be an Example or a list of Examples")


def _read_row(fields: FieldMap, number: int, value: Any) -> Row:
    try:
        example = read_example(value, fields)
    except BadInput as error:
        return Row(number, id_of(value), error)
    return Row(number, example.id, example)


def routes(service: Service) -> APIRouter:
    """Return the route."""
    router = strict_router()
    # An object may name its fields as other tools do (docs/input.md), and a list's rows may be
    # anything: what is no Example gets its own error.
    reader = PlainValidator(
        partial(_read_body, service.settings.fields),
        json_schema_input_type=Example | dict[str, Any] | list[Any],
    )

    @router.post(
        "/v1/judge",
        response_model=Verdict | list[Verdict],
        responses=responses(422, 429, 504),
        summary="Judge answers by their documents",
    )
    async def judge(
        request: Request, body: Annotated[Example | list[Row], reader, FromBody()]
    ) -> Response:
        headers = {}
        if isinstance(body, Example):
            content = (await service.judge(request, body)).model_dump_json()
            if service.audit:
                headers[VERDICT_ID] = verdict_id(request)
        else:
            verdicts = await service.judge_rows(request, body)
            content = f"[{','.join(verdict.model_dump_json() for verdict in verdicts)}]"
        return Response(content, headers=headers, media_type="application/json")

    return router
