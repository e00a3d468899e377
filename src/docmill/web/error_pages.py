"""Faults as pages for people who typed an address; programs get the problem document as ever."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from docmill.core.faults import FAULTS, DocmillError
from docmill.web import problems, render

AnswerProblem = Callable[[Request, Exception], Awaitable[Response]]


async def show_fault(request: Request, exc: Exception) -> Response:
    return await _show_page(request, exc, problems.answer_fault)


async def show_invalid(request: Request, exc: Exception) -> Response:
    return await _show_page(request, exc, problems.answer_invalid)


async def show_refused(request: Request, exc: Exception) -> Response:
    return await _show_page(request, exc, problems.answer_refused)


async def show_broken(request: Request) -> Response:
    """A bug of ours: one sentence and the number to ask for help with, never a stack."""
    return await _show_page(request, DocmillError("UNKNOWN"), problems.answer_fault)


async def _show_page(request: Request, exc: Exception, answer: AnswerProblem) -> Response:
    """The same answer with another body: status, headers and the line in the log stay."""
    told = await answer(request, exc)
    if not _wants_html(request):
        return told
    if told.status_code == HTTPStatus.UNAUTHORIZED and _offers_sign_in(request):
        return RedirectResponse(f"/sign-in?{urlencode({'after': _own_path(request)})}", 303)
    code = exc.fault.code if isinstance(exc, DocmillError) else request.state.fault["code"]
    # What the log knows a bug of ours by; nobody needs it for a mistake of his own.
    ours = told.status_code == HTTPStatus.INTERNAL_SERVER_ERROR
    request_id = request.state.request_id if ours else None
    page = render.render_page(
        "error.html", status=told.status_code, fault=FAULTS[code], request_id=request_id
    )
    for name, value in told.headers.items():
        if name not in {"content-type", "content-length"}:
            page.headers[name] = value
    return page


def _offers_sign_in(request: Request) -> bool:
    return request.app.state.site.config.sign_in.issuer is not None


def _own_path(request: Request) -> str:
    query = request.url.query
    return f"{request.url.path}?{query}" if query else request.url.path


def _wants_html(request: Request) -> bool:
    asked = request.headers.get("accept", "")
    return request.method == "GET" and asked.startswith("text/html")
