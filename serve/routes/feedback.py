"""`POST /v1/feedback`: user feedback on a verdict that the audit stores."""

import asyncio

from fastapi import APIRouter, HTTPException

from ..audit.database import AuditError, NotKept
from ..audit.recorder import NoRoom, Recorder
from ..http.errors import responses, strict_router
from ..wire import Feedback, Kept

PATH = "/v1/feedback"
_BACK_IN = {"Retry-After": "2"}


def routes(recorder: Recorder, timeout: float) -> APIRouter:
    """Return the route, which answers within `timeout` seconds."""
    router = strict_router()

    @router.post(
        PATH,
        status_code=201,
        responses=responses(404, 422, 503, 504),
        summary="Say what a verdict should have been",
    )
    async def add(feedback: Feedback) -> Kept:
        try:
            reply = asyncio.wrap_future(recorder.correct(feedback))
            # What was not begun by then is not kept afterwards.
            return await asyncio.wait_for(reply, timeout)
        except NotKept as error:
            raise HTTPException(404, str(error)) from None
        except NoRoom as error:
            raise HTTPException(503, str(error), _BACK_IN) from None
        except AuditError:
            # Its message names the database, which is not the client's to know.
            message = "the audit's database failed; the feedback is not stored; send it again"
            raise HTTPException(503, message, _BACK_IN) from None
        except TimeoutError:
            raise HTTPException(
                504, f"not stored within {timeout:g} seconds; send it again"
            ) from None

    return router
