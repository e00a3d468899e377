"""Faults as pages for people who typed an address; programs get the problem document as ever."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from docmill.core.faults import FAULTS, Faulted
from docmill.web import problems
from docmill.web.pages import render

Answer = Callable[[Request, Exception], Awaitable[Response]]


async def faulted(request: Request, exc: Exception) -> Response:
    return await _shown(request, exc, problems.faulted)


async def invalid(request: Request, exc: Exception) -> Response:
    return await _shown(request, exc, problems.invalid)


async def refused(request: Request, exc: Exception) -> Response:
    return await _shown(request, exc, problems.refused)


async def _shown(request: Request, exc: Exception, answer: Answer) -> Response:
    """The same answer with another body: status, headers and the line in the log stay."""
    told = await answer(request, exc)
    if not _is_for_a_person(request):
        return told
    code = exc.fault.code if isinstance(exc, Faulted) else request.state.fault["code"]
    page = render.page("mistake.html", status=told.status_code, fault=FAULTS[code])
    for name, value in told.headers.items():
        if name not in {"content-type", "content-length"}:
            page.headers[name] = value
    return page


def _is_for_a_person(request: Request) -> bool:
    asked = request.headers.get("accept", "")
    return request.method == "GET" and asked.startswith("text/html")
