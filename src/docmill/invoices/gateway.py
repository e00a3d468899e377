"""Reading one request of the gateway: the file goes to a nameless file on disk, block by block."""

import asyncio
import json
import os
import tempfile
import traceback
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from typing import Any, BinaryIO, Final

import structlog
from fastapi import APIRouter, FastAPI
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from docmill import __version__
from docmill.core.faults import DocmillError, Fault
from docmill.core.plugins import PDF
from docmill.core.summaries import Summary
from docmill.documents import content_types
from docmill.documents.multipart import LONGEST_FIELD, BodyLimits, FormReader, limit_body
from docmill.documents.previews import run_unless_gone
from docmill.invoices import checks
from docmill.invoices import profile as invoices_profile
from docmill.invoices.formats import choosing

FIELDS: Final = {"mapping": LONGEST_FIELD, "pretty": LONGEST_FIELD, "profile": 16 << 10}
MOST_FIELDS: Final = 15
SECONDS: Final = 120.0
# Who answers before the end of a body reads on for a while, or a client in the middle of sending
# gets a reset instead of the answer.
DRAINED: Final = BodyLimits(64 << 20, files=1, fields=0)
DRAIN_SECONDS: Final = 5.0
TRUE: Final = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True, slots=True)
class SentFile:
    """A body read to its end. `file` can only be read, and is gone from the disk when closed."""

    file: BinaryIO
    size: int
    mapping: str | None
    pretty: bool
    profile: Mapping[str, Any]


class _BodyReader(FormReader):
    """Writes the one file of a body to `to`; `size` is None until it begins."""

    def __init__(self, to: BinaryIO, max_bytes: int) -> None:
        limits = BodyLimits(max_bytes, files=1, fields=MOST_FIELDS)
        super().__init__(limits, frozenset({"file"}), FIELDS)
        self.size: int | None = None
        self._to: BinaryIO = to

    def begin_file(self, filename: str) -> None:
        self.size = 0

    async def write_file(self, chunk: bytes | bytearray) -> None:
        self.size = (self.size or 0) + len(chunk)
        if self.size > self.limits.file_bytes:
            raise DocmillError("TOO_LARGE", maxSize=self.limits.file_bytes)
        await asyncio.to_thread(self._to.write, chunk)

    async def end_file(self) -> None:
        await asyncio.to_thread(self._to.flush)


@asynccontextmanager
async def receive(request: Request) -> AsyncGenerator[SentFile]:
    """Read the whole body, then give it out for as long as the block lasts."""
    writes, reads = await asyncio.to_thread(_open_nameless)
    with writes, reads:
        reader = _BodyReader(writes, request.app.state.max_bytes)
        try:
            async with asyncio.timeout(SECONDS):
                await reader.read(request)
        except TimeoutError as exc:
            raise DocmillError("TOO_SLOW", "the body stalled") from exc
        if reader.size is None:
            raise DocmillError("NO_FILE")
        if not reader.size:
            raise DocmillError("EMPTY_FILE")
        sent = defaultdict(str, reader.values)
        pretty, profile = sent["pretty"].lower() in TRUE, _parse_sent_profile(sent["profile"])
        yield SentFile(reads, reader.size, sent["mapping"] or None, pretty, profile)


def _parse_sent_profile(text: str) -> Mapping[str, Any]:
    """The profile as it was sent, if it can be one."""
    if not text:
        return {}
    try:
        given: dict[str, Any] = dict(json.loads(text))
        found = invoices_profile.find_mistakes(invoices_profile.parse_profile(given))
    except (ValueError, TypeError, RecursionError) as exc:
        message = str(exc) if type(exc) is ValueError else "not a JSON object"
        raise _bad_request([("profile", message)]) from exc
    if found:
        raise _bad_request([(f"profile.{name}", message) for name, message in found])
    return given


def _bad_request(found: list[tuple[str, str]]) -> DocmillError:
    mistakes = [{"at": at, "message": message} for at, message in found]
    return DocmillError("BAD_REQUEST", mistakes=mistakes)


async def drain(request: Request) -> None:
    """Take in what is still being sent, for a while."""
    with suppress(TimeoutError, ClientDisconnect, RuntimeError, DocmillError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in limit_body(request.stream(), DRAINED):
                pass


def _open_nameless() -> tuple[BinaryIO, BinaryIO]:
    """A file without a name, once to write and once to read: a confined run may only read."""
    number, path = tempfile.mkstemp(prefix="docmill-gateway-")
    try:
        return os.fdopen(number, "wb"), Path(path).open("rb")
    finally:
        Path(path).unlink()


class GatewayForm(StrEnum):
    JSON = "application/json"
    XML = "application/xml"


BECOMES: Final[Mapping[str, tuple[GatewayForm, ...]]] = {
    PDF: (GatewayForm.JSON, GatewayForm.XML),
    GatewayForm.JSON: (GatewayForm.XML,),
}
RANGES: Final[Mapping[str, tuple[GatewayForm, ...]]] = {
    GatewayForm.JSON: (GatewayForm.JSON,),
    GatewayForm.XML: (GatewayForm.XML,),
    "application/*": (GatewayForm.JSON, GatewayForm.XML),
    "*/*": (GatewayForm.JSON, GatewayForm.XML),
}


def parse_accept(header: str | None) -> tuple[GatewayForm, ...]:
    """The forms an Accept header allows, best first; none of ours is a fault."""
    forms: dict[GatewayForm, None] = {}
    for name in _weigh_ranges(header or "*/*"):
        forms.update(dict.fromkeys(RANGES.get(name, ())))
    if not forms:
        raise DocmillError("NOT_ACCEPTABLE")
    return tuple(forms)


def _weigh_ranges(header: str) -> Iterator[str]:
    weighed: list[tuple[float, str]] = []
    for part in header.split(","):
        name, *parameters = (word.strip().lower() for word in part.split(";"))
        weight = next((word[2:] for word in parameters if word.startswith("q=")), "1")
        try:
            weighed.append((float(weight), name))
        except ValueError as exc:
            raise DocmillError("NOT_ACCEPTABLE", "a weight is not a number") from exc
    for weight, name in sorted(weighed, key=lambda pair: -pair[0]):
        if weight > 0:
            yield name


def detect_kind(file: BinaryIO) -> str:
    """By its first bytes, never by its name."""
    head = file.read(content_types.HEAD_BYTES)
    file.seek(0)
    if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return GatewayForm.JSON
    if content_types.detect_type(head) == PDF:
        return PDF
    raise DocmillError("NOT_CONVERTIBLE")


def choose_form(kind: str, allowed: tuple[GatewayForm, ...]) -> GatewayForm:
    for form in allowed:
        if form in BECOMES[kind]:
            return form
    raise DocmillError("NOT_ACCEPTABLE", f"{kind} does not become that")


log = structlog.get_logger()

MEDIA_TYPE: Final = "application/problem+json"
RECEIVE: Final = "receive"
CLIENT_GONE: Final = 499


async def answer_fault(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, DocmillError)
    stage = _stage_of(request, exc.fault)
    log.info("document.refused", code=exc.fault.code, stage=stage, detail=exc.detail or None)
    await drain(request)
    return _make_problem(exc.fault, stage, exc.facts)


async def answer_crash(request: Request, exc: Exception) -> Response:
    """The last resort. The server cuts the connection if an answer was under way."""
    stack = "".join(traceback.format_exception(exc))
    log.error("request.broke", error=type(exc).__name__, stack=stack)
    unknown = DocmillError("UNKNOWN").fault
    return _make_problem(unknown, _stage_of(request, unknown), {}, status=HTTPStatus.BAD_GATEWAY)


async def answer_gone(request: Request, exc: Exception) -> Response:
    """Nobody reads this answer."""
    log.info("document.given_up", stage=str(getattr(request.state, "stage", RECEIVE)))
    return Response(status_code=CLIENT_GONE)


def status_of(fault: Fault, stage: str) -> int:
    """A fault of a conversion is the document's, or, where it may pass, the converter's."""
    if stage == RECEIVE:
        return fault.status
    return HTTPStatus.BAD_GATEWAY if fault.retried else HTTPStatus.UNPROCESSABLE_ENTITY


def _stage_of(request: Request, fault: Fault) -> str:
    """A run that was given a mapping says by its code whether that was where it ended."""
    return "map" if fault.code == "GW_4XX" else str(getattr(request.state, "stage", RECEIVE))


def _make_problem(
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


# An invoice's JSON is small; a large one would hold the whole service up while it is mapped.
MOST_JSON: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class Conversion:
    """`data` is the canonical JSON; `version` the pipeline's."""

    data: bytes
    version: str
    summary: Summary | None = None


# The number of an open file, for reading only, a mapping and the owner's profile.
Convert = Callable[[int, str | None, Mapping[str, Any]], Coroutine[Any, Any, Conversion]]


class GatewayStage(StrEnum):
    """Where a request is, or ended: header X-Stage."""

    RECEIVE = "receive"
    READ = "read"
    MAP = "map"


router: Final = APIRouter()


def create_app(convert: Convert, max_bytes: int) -> FastAPI:
    app = FastAPI(title="docmill gateway", version=__version__, docs_url=None, redoc_url=None)
    app.state.convert, app.state.max_bytes = convert, max_bytes
    app.add_exception_handler(DocmillError, answer_fault)
    app.add_exception_handler(ClientDisconnect, answer_gone)
    app.add_exception_handler(Exception, answer_crash)
    app.include_router(router)
    return app


@router.post("/process")
async def process(request: Request) -> Response:
    """An invoice (PDF or JSON) in, canonical JSON or a mapping's XML out."""
    request.state.stage = GatewayStage.RECEIVE
    allowed = parse_accept(request.headers.get("accept"))
    async with receive(request) as sent:
        kind = await asyncio.to_thread(detect_kind, sent.file)
        form = choose_form(kind, allowed)
        _check_mapping(sent.mapping, form)
        if kind == PDF:
            response = await _answer_pdf(request, sent, form)
        else:
            response = await _answer_json(request, sent)
    response.headers["x-stage"] = request.state.stage
    log.info("document.converted", stage=str(request.state.stage), bytes=sent.size, to=str(form))
    return response


def _check_mapping(name: str | None, form: GatewayForm) -> None:
    if name is not None:
        choosing.check_name(name)
    elif form is GatewayForm.XML:
        raise DocmillError("NO_MAPPING")


async def _answer_pdf(request: Request, sent: SentFile, form: GatewayForm) -> Response:
    request.state.stage = GatewayStage.READ
    convert: Convert = request.app.state.convert
    # The data of a run with a mapping tells what the mapping doubts; XML is written here.
    mapping = sent.mapping if form is GatewayForm.JSON else None
    made = await run_unless_gone(request, convert(sent.file.fileno(), mapping, sent.profile))
    if form is GatewayForm.JSON:
        data = await asyncio.to_thread(_indent, made.data) if sent.pretty else made.data
        response = Response(data, media_type=form)
    else:
        response = await _answer_mapped(request, made.data, sent)
    response.headers["x-pipeline-version"] = made.version
    if made.summary:
        response.headers["x-summary"] = json.dumps(dict(made.summary))
    return response


async def _answer_json(request: Request, sent: SentFile) -> Response:
    if sent.size > MOST_JSON:
        raise DocmillError("TOO_LARGE", "as JSON", maxSize=MOST_JSON)
    return await _answer_mapped(request, await asyncio.to_thread(sent.file.read), sent)


async def _answer_mapped(request: Request, data: bytes, sent: SentFile) -> Response:
    request.state.stage = GatewayStage.MAP
    assert sent.mapping is not None
    xml = await asyncio.to_thread(_write_xml, data, sent.mapping, sent)
    return Response(xml, media_type=GatewayForm.XML)


def _write_xml(data: bytes, mapping: str, sent: SentFile) -> bytes:
    """Data that was read for a profile carries it along; one that is sent goes before it."""
    invoice = _parse_object(data)
    checks.check_invoice(invoice)
    profile_data: Any = sent.profile or invoice.get("profile") or {}
    try:
        profile = invoices_profile.parse_profile(profile_data)
    except (ValueError, TypeError, AttributeError) as exc:
        raise DocmillError("BAD_FILE", "its profile is none") from exc
    return choosing.write_invoice(mapping, invoice, profile, pretty=sent.pretty).emitted.xml


def _parse_object(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as exc:
        raise DocmillError("BAD_FILE", "it is not JSON") from exc
    if not isinstance(found, dict):
        raise DocmillError("BAD_FILE", "it is not a JSON object")
    return {**found}


def _indent(data: bytes) -> bytes:
    return json.dumps(json.loads(data), indent=2, ensure_ascii=False).encode()
