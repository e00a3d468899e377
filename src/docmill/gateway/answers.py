"""Faults as answers of the gateway. What the log knows beyond a code stays in the log."""

import traceback
from http import HTTPStatus
from typing import Final

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from docmill.core.faults import Fault, Faulted
from docmill.gateway import receiving

log = structlog.get_logger()

MEDIA_TYPE: Final = "application/problem+json"
RECEIVE: Final = "receive"
CLIENT_GONE: Final = 499


async def faulted(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, Faulted)
    stage = _stage(request, exc.fault)
    log.info("document.refused", code=exc.fault.code, stage=stage, detail=exc.detail or None)
    await receiving.drain(request)
    return _answer(exc.fault, stage, exc.facts)


async def broke(request: Request, exc: Exception) -> Response:
    """The last resort. The server cuts the connection if an answer was under way."""
    stack = "".join(traceback.format_exception(exc))
    log.error("request.broke", error=type(exc).__name__, stack=stack)
    unknown = Faulted("UNKNOWN").fault
    return _answer(unknown, _stage(request, unknown), {}, status=HTTPStatus.BAD_GATEWAY)


async def gone(request: Request, exc: Exception) -> Response:
    """Nobody reads this answer."""
    log.info("document.given_up", stage=str(getattr(request.state, "stage", RECEIVE)))
    return Response(status_code=CLIENT_GONE)


def status_of(fault: Fault, stage: str) -> int:
    """A fault of a conversion is the document's, or, where it may pass, the converter's."""
    if stage == RECEIVE:
        return fault.status
    return HTTPStatus.BAD_GATEWAY if fault.retried else HTTPStatus.UNPROCESSABLE_ENTITY


def _stage(request: Request, fault: Fault) -> str:
    """A run that was given a mapping says by its code whether that was where it ended."""
    return "map" if fault.code == "GW_4XX" else str(getattr(request.state, "stage", RECEIVE))


def _answer(
    fault: Fault, stage: str, facts: dict[str, object], *, status: int | None = None
) -> Response:
    status = status or status_of(fault, stage)
    body = {
        "title": fault.says,
        "status": status,
        "detail": fault.advice,
        "code": fault.code,
        "error": fault.error,
        "stage": stage,
        **facts,
    }
    return JSONResponse(body, status, {"x-stage": stage}, media_type=MEDIA_TYPE)
