"""Faults as answers: RFC 9457 problem documents with our code, sentence and facts beside them."""

import math
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from docmill.core.faults import FAULTS, Fault, Faulted

MEDIA_TYPE: Final = "application/problem+json"
OF_STATUS: Final = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED", 503: "BUSY"}


class Problem(BaseModel):
    """Every error of the API has this form. Facts (maxSize, jobId, retryAfter) stand beside."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["/docs#JOB_NOT_FOUND"])
    title: str = Field(examples=["There is no such job"])
    status: int = Field(examples=[404])
    detail: str = Field(description="What to do about it")
    instance: str = Field(description="This very occurrence; quote it when you ask for help")
    code: str = Field(examples=["JOB_NOT_FOUND"], description="A contract: never renamed")
    error: str = Field(examples=["Job not found"], description="One sentence to show")
    retryable: bool = Field(description="Whether the same request may succeed later")


def describe(fault: Fault, facts: Mapping[str, object]) -> dict[str, Any]:
    """A fault in words for a client. What the log knows beyond this stays in the log."""
    return {
        "code": fault.code,
        "error": fault.error,
        "retryable": fault.retried or "retryAfter" in facts,
        **facts,
    }


def answer(
    fault: Fault, facts: Mapping[str, object] | None = None, *, request_id: str = ""
) -> Response:
    facts = facts or {}
    body: dict[str, Any] = {
        "type": f"/docs#{fault.code}",
        "title": fault.says,
        "status": fault.status,
        "detail": fault.advice,
        "instance": f"urn:uuid:{request_id}",
        **describe(fault, facts),
    }
    response = JSONResponse(body, fault.status, media_type=MEDIA_TYPE)
    retry_after = facts.get("retryAfter")
    if isinstance(retry_after, int | float):
        response.headers["retry-after"] = str(max(1, math.ceil(retry_after)))
    if fault.status == HTTPStatus.UNAUTHORIZED:
        response.headers["www-authenticate"] = 'Bearer realm="docmill", error="invalid_token"'
    return response


async def faulted(request: Request, exc: Exception) -> Response:
    """The handler of Faulted. Code and detail go to the log with the request's line."""
    assert isinstance(exc, Faulted)
    request.state.fault = {"code": exc.fault.code}
    if exc.fault.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        request.state.fault["detail"] = exc.detail
    return answer(exc.fault, exc.facts, request_id=request.state.request_id)


async def invalid(request: Request, exc: Exception) -> Response:
    """The handler of what FastAPI itself refuses: which parameter and why, not what was sent."""
    assert isinstance(exc, RequestValidationError)
    mistakes = [
        {"at": ".".join(str(step) for step in error["loc"]), "message": error["msg"]}
        for error in exc.errors()
    ]
    return await faulted(request, Faulted("BAD_REQUEST", mistakes=mistakes))


async def refused(request: Request, exc: Exception) -> Response:
    """The handler of what the router refuses: no such address, no such method."""
    assert isinstance(exc, HTTPException)
    code = OF_STATUS.get(exc.status_code, "BAD_REQUEST")
    response = await faulted(request, Faulted(code))
    response.headers.update(exc.headers or {})
    return response


def documented(*codes: str) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that may answer with these faults."""
    found: dict[int | str, dict[str, Any]] = {}
    for status in {FAULTS[code].status for code in codes}:
        of_status = [FAULTS[code] for code in codes if FAULTS[code].status == status]
        found[status] = {
            "description": "; ".join(f"{f.code}: {f.says}" for f in of_status),
            "content": {MEDIA_TYPE: {"schema": _SCHEMA, "examples": _examples(of_status)}},
        }
    return found


_SCHEMA: Final = {"$ref": "#/components/schemas/Problem"}


def _examples(faults: Iterable[Fault]) -> dict[str, Any]:
    return {fault.code: {"value": describe(fault, {})} for fault in faults}
