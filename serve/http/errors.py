"""Every error of the API has one form, which clients of OpenAI's read too.

`{"error": {"code", "message", "type", "param"}}`: `code` is one of the contract's for rows and
verdicts, else one of those below; `param` names the field at fault, where one is.
"""

import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from moonlynx.judge.contract.types import ERROR_CODES, BadInput, Unscored
from moonlynx.judge.rows.fields import load_json

from ..queue.batching import QueueFull

_CODES = {
    401: "unauthorized",
    403: "other_site",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    409: "not_done",
    413: "too_large",
    415: "not_json",
    421: "other_host",
    429: "busy",
    499: "client_gone",
    500: "internal",
    502: "upstream",
    503: "not_ready",
    504: "timeout",
}
_TYPES = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}


class ErrorDetail(BaseModel):
    """What went wrong and how to mend it."""

    code: str = Field(description="Of a row or verdict: the contract's codes.")
    message: str
    type: str
    param: str | None = Field(description="The field at fault.")


class ErrorBody(BaseModel):
    """The body of every answer that is an error."""

    error: ErrorDetail


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe error answers for OpenAPI; the others here every route may return."""
    wanted = sorted({401, 403, 408, 413, 415, 421, 500, *statuses})
    return {
        status: {"model": ErrorBody, "description": _CODES.get(status, "")} for status in wanted
    }


def error_response(
    status: int,
    message: str,
    *,
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return an error response; without `code` it is that of the status."""
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    code = code or _CODES.get(status, "refused")
    error = {"code": code, "message": message, "type": kind, "param": param}
    # In ASCII: a field's name may hold what UTF-8 cannot.
    content = json.dumps({"error": error})
    return Response(content, status, headers=headers, media_type="application/json")


def strict_router() -> APIRouter:
    """Return a router whose JSON is read as the rows of files are: a repeated key is refused."""

    class StrictRequest(Request):
        async def json(self) -> Any:
            return load_json(await self.body())

    class StrictRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def handle_strictly(request: Request) -> Response:
                return await handle(StrictRequest(request.scope, request.receive))

            return handle_strictly

    return APIRouter(route_class=StrictRoute)


def answer_errors(app: FastAPI) -> None:
    """Register a response for every error that a route raises."""
    handlers: dict[type[Exception], Callable[[Request, Any], Response]] = {
        BadInput: _bad_input,
        Unscored: lambda _, error: error_response(
            422, str(error), code=error.error.code if error.error else "backend"
        ),
        QueueFull: lambda _, error: error_response(
            429, str(error), headers={"Retry-After": str(error.retry_after)}
        ),
        RequestValidationError: _bad_body,
        HTTPException: _refused,
        ClientDisconnect: lambda *_: error_response(499, "the client closed the connection"),
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


def _bad_input(_: Request, error: BadInput) -> Response:
    return error_response(422, str(error), code=error.code, param=error.field)


def _refused(_: Request, error: HTTPException) -> Response:
    if error.status_code == 400:  # FastAPI's word for a body that it cannot decode
        cause = error.__cause__
        why = cause.message if isinstance(cause, BadInput) else "cannot be read as JSON in UTF-8"
        return error_response(422, f"body: {why}", code="bad_input", param="body")
    return error_response(error.status_code, error.detail, headers=error.headers)


def _bad_body(request: Request, error: RequestValidationError) -> Response:
    """Turn the first complaint about a body into one that names field and fix."""
    if error.body is None and request.method == "POST":
        return error_response(422, "body: send a JSON object", code="bad_input", param="body")
    first = error.errors()[0]
    cause = (first.get("ctx") or {}).get("error")
    if isinstance(cause, BadInput):
        return _bad_input(request, cause)
    if first["type"] == "json_invalid":
        message = f"is not JSON ({cause} at character {first['loc'][-1]})"
        return error_response(422, f"body: {message}", code="bad_input", param="body")
    kind, message = first["type"], first["msg"]
    field = ".".join(str(part) for part in first["loc"][1:])
    if not field and ": " in message:  # a complaint about the whole names its field itself
        field, message = message.split(": ", 1)
    if kind == "missing":
        message = f"is missing; give {field!r}"
    code = kind if kind in ERROR_CODES else "bad_input"
    return error_response(422, f"{field}: {message}", code=code, param=field)
