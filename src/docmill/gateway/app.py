"""create(): the gateway as an application, around the function that reads a PDF for it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import structlog
from fastapi import APIRouter, FastAPI
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from docmill import __version__, mappings
from docmill.core.faults import Faulted, too_large
from docmill.core.pipeline import PDF
from docmill.gateway import answers, receiving
from docmill.gateway.forms import Form, accepted, choose, kind_of
from docmill.gateway.receiving import Sent

log = structlog.get_logger()

# An invoice's JSON is small; a large one would hold the whole service up while it is mapped.
MOST_JSON: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class Converted:
    """`data` is the canonical JSON; `version` the pipeline's."""

    data: bytes
    version: str


# The number of an open file, for reading only, a mapping and the owner's profile; raises Faulted.
Convert = Callable[[int, str | None, Mapping[str, Any]], Awaitable[Converted]]


class Stage(StrEnum):
    """Where a request is, or ended: header X-Stage."""

    RECEIVE = "receive"
    READ = "read"
    MAP = "map"


router: Final = APIRouter()


def create(convert: Convert) -> FastAPI:
    app = FastAPI(title="docmill gateway", version=__version__, docs_url=None, redoc_url=None)
    app.state.convert = convert
    app.add_exception_handler(Faulted, answers.faulted)
    app.add_exception_handler(ClientDisconnect, answers.gone)
    app.add_exception_handler(Exception, answers.broke)
    app.include_router(router)
    return app


@router.get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok", "version": __version__}


@router.post("/process")
async def process(request: Request) -> Response:
    """An invoice (PDF or JSON) in, canonical JSON or a mapping's XML out."""
    request.state.stage = Stage.RECEIVE
    allowed = accepted(request.headers.get("accept"))
    async with receiving.received(request) as sent:
        kind = await asyncio.to_thread(kind_of, sent.file)
        form = choose(kind, allowed)
        _check_mapping(sent.mapping, form)
        if kind == PDF:
            response = await _from_pdf(request, sent, form)
        else:
            response = await _from_json(request, sent)
    response.headers["x-stage"] = request.state.stage
    log.info("document.converted", stage=str(request.state.stage), bytes=sent.size, to=str(form))
    return response


def _check_mapping(name: str | None, form: Form) -> None:
    if name is not None:
        mappings.load(name)
    elif form is Form.XML:
        raise Faulted("NO_MAPPING")


async def _from_pdf(request: Request, sent: Sent, form: Form) -> Response:
    request.state.stage = Stage.READ
    convert: Convert = request.app.state.convert
    # The data of a run with a mapping tells what the mapping doubts; XML is written here.
    mapping = sent.mapping if form is Form.JSON else None
    made = await _unless_gone(request, convert(sent.file.fileno(), mapping, sent.profile))
    if form is Form.JSON:
        data = await asyncio.to_thread(_indented, made.data) if sent.pretty else made.data
        response = Response(data, media_type=form)
    else:
        response = await _mapped(request, made.data, sent)
    response.headers["x-pipeline-version"] = made.version
    return response


async def _unless_gone(request: Request, converting: Awaitable[Converted]) -> Converted:
    """A caller who gave up frees the room: nobody would read what comes out."""
    work = asyncio.ensure_future(converting)
    leaving = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientDisconnect
        return work.result()
    finally:
        leaving.cancel()
        work.cancel()
        await asyncio.gather(work, leaving, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _from_json(request: Request, sent: Sent) -> Response:
    if sent.size > MOST_JSON:
        raise too_large(MOST_JSON, "as JSON")
    return await _mapped(request, await asyncio.to_thread(sent.file.read), sent)


async def _mapped(request: Request, data: bytes, sent: Sent) -> Response:
    request.state.stage = Stage.MAP
    assert sent.mapping is not None
    xml = await asyncio.to_thread(_xml, data, sent.mapping, sent)
    return Response(xml, media_type=Form.XML)


def _xml(data: bytes, mapping: str, sent: Sent) -> bytes:
    """Data that was read for a profile carries it along; one that is sent goes before it."""
    invoice = _object(data)
    told: Any = sent.profile or invoice.get("profile") or {}
    try:
        profile = mappings.profile_of(told)
    except (ValueError, TypeError, AttributeError) as exc:
        raise Faulted("BAD_FILE", "its profile is none") from exc
    return mappings.emit(mappings.load(mapping), invoice, profile, pretty=sent.pretty).xml


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as exc:
        raise Faulted("BAD_FILE", "it is not JSON") from exc
    if not isinstance(found, dict):
        raise Faulted("BAD_FILE", "it is not a JSON object")
    return {**found}


def _indented(data: bytes) -> bytes:
    return json.dumps(json.loads(data), indent=2, ensure_ascii=False).encode()
