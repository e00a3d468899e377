"""Faults as answers: RFC 9457 problem documents with our code, sentence and facts beside them."""

import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match

from docmill.core.faults import FAULTS, DocmillError, Fault

MEDIA_TYPE: Final = "application/problem+json"
METHODS: Final = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
# What asking for somebody's thing by its id may meet.
LOOKUP_FAULTS: Final = ("UNAUTHORIZED", "FORBIDDEN", "JOB_NOT_FOUND", "DATABASE_DOWN", "BUSY")
UPLOAD_FAULTS: Final = (
    "NOT_PDF", "UNSUPPORTED_TYPE", "UNKNOWN_PIPELINE", "UNKNOWN_MAPPING", "NO_FILE", "EMPTY_FILE",
    "TOO_MANY_FILES", "BAD_REQUEST", "UNAUTHORIZED", "CROSS_SITE", "TOO_SLOW", "TOO_LARGE",
    "KEY_REUSED", "RATE_LIMITED", "QUOTA_JOBS", "QUOTA_FILES", "QUOTA_BYTES", "IO_ERROR",
    "DATABASE_DOWN", "DISK_FULL", "BUSY", "URL_REFUSED", "URL_FAILED",
)  # fmt: skip
CODE_OF_STATUS: Final = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED", 503: "BUSY"}


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


def describe_fault(fault: Fault, facts: Mapping[str, object]) -> dict[str, Any]:
    """A fault in words for a client. What the log knows beyond this stays in the log."""
    return {
        "code": fault.code,
        "error": fault.error,
        "retryable": fault.retried or "retryAfter" in facts,
        **facts,
    }


def problem_response(
    fault: Fault, facts: Mapping[str, object] | None = None, *, request_id: str = ""
) -> Response:
    facts = facts or {}
    body: dict[str, Any] = {
        "type": f"/docs#{fault.code}",
        "title": fault.says,
        "status": fault.status,
        "detail": fault.advice,
        "instance": f"urn:uuid:{request_id}",
        **describe_fault(fault, facts),
    }
    response = JSONResponse(body, fault.status, media_type=MEDIA_TYPE)
    retry_after = facts.get("retryAfter")
    if isinstance(retry_after, int | float):
        response.headers["retry-after"] = str(max(1, math.ceil(retry_after)))
    if fault.status == HTTPStatus.UNAUTHORIZED:
        response.headers["www-authenticate"] = _challenge(facts)
    return response


def _challenge(facts: Mapping[str, object]) -> str:
    """RFC 6750: who sent nothing is told no error."""
    realm = 'Bearer realm="docmill"'
    if facts.get("token") == "missing":
        return realm
    says = facts.get("error", "")
    return f'{realm}, error="invalid_token", error_description="{says}"'


async def answer_fault(request: Request, exc: Exception) -> Response:
    """The handler of DocmillError. Code and detail go to the log with the request's line."""
    assert isinstance(exc, DocmillError)
    request.state.fault = {"code": exc.fault.code}
    if site := getattr(request.app.state, "site", None):
        site.metrics.count_damage(exc)
    if exc.fault.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        request.state.fault["detail"] = exc.detail
    return problem_response(exc.fault, exc.facts, request_id=request.state.request_id)


async def answer_invalid(request: Request, exc: Exception) -> Response:
    """The handler of what FastAPI itself refuses: which parameter and why, not what was sent."""
    assert isinstance(exc, RequestValidationError)
    mistakes = [
        {"at": ".".join(str(step) for step in error["loc"]), "message": error["msg"]}
        for error in exc.errors()
    ]
    return await answer_fault(request, DocmillError("BAD_REQUEST", mistakes=mistakes))


async def answer_refused(request: Request, exc: Exception) -> Response:
    """The handler of what the router refuses: no such address, no such method."""
    assert isinstance(exc, HTTPException)
    code = CODE_OF_STATUS.get(exc.status_code, "BAD_REQUEST")
    response = await answer_fault(request, DocmillError(code))
    response.headers.update(exc.headers or {})
    if exc.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        response.headers["allow"] = ", ".join(_allowed_methods(request))
    return response


def _allowed_methods(request: Request) -> list[str]:
    """All that the address takes; the router itself names one route's methods alone.

    An address that the API names itself is no id to the routes that take one in its place.
    """
    if named := request.app.openapi()["paths"].get(request.url.path):
        return [method for method in METHODS if method.lower() in named]
    routes: list[BaseRoute] = request.app.router.routes
    found = [
        method
        for method in METHODS
        if any(
            route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes
        )
    ]
    return found or ["GET", "HEAD"]  # within a mount no route matches: files, which are read alone


def fault_responses(*codes: str) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that may answer with these faults."""
    found: dict[int | str, dict[str, Any]] = {}
    for status in {FAULTS[code].status for code in codes}:
        found[status] = describe_faults(
            [FAULTS[code] for code in codes if FAULTS[code].status == status]
        )
    return found


def describe_faults(faults: Sequence[Fault]) -> dict[str, Any]:
    """A response of OpenAPI: any of these faults."""
    schema = {"$ref": "#/components/schemas/Problem"}
    examples = {fault.code: {"value": describe_fault(fault, {})} for fault in faults}
    return {
        "description": "; ".join(f"{fault.code}: {fault.says}" for fault in faults),
        "content": {MEDIA_TYPE: {"schema": schema, "examples": examples}},
    }
