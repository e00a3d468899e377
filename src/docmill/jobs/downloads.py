"""Results going out: as a download, and page by page while they are made."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, Any, Final, Literal

import structlog
from fastapi import APIRouter, Header, Query
from pydantic import BaseModel, Field, WithJsonSchema
from starlette.responses import RedirectResponse, Response, StreamingResponse

from docmill.core import installed
from docmill.core.faults import DocmillError
from docmill.core.jobs import Job, JobId, Status, StoredResult
from docmill.core.plugins import Format
from docmill.db.pool import connection, read_connection
from docmill.documents.stored import open_stored
from docmill.jobs import formats, queries, results
from docmill.queue import steps
from docmill.queue.enqueue import find_own_job
from docmill.reading.page_json import KIND, unpack_page
from docmill.reading.pages import Page
from docmill.web import params, problems
from docmill.web.responses import CheckedResponse, HandedOver, attachment_header
from docmill.web.site import CurrentOwner, CurrentSite, Site

log = structlog.get_logger()

router = APIRouter(prefix="/api", tags=["results"])

PRIVATE: Final = {"cache-control": "private, no-store"}
# Seconds between tries to forget what was downloaded; what is left then retention takes.
FORGET_WAITS: Final = (0.5, 2, 8)
SUFFIXES: Final = {"application/json": ".json", "application/xml": ".xml"}
STORED_FORMS: Final = (None, "data", "document")
FORMATS: Final = installed.find_rooms().formats
FORM_HELP: Final = (
    "The JSON that was found (data) or the document made of it (document), by default that; or it "
    "is written anew: "
    + "; ".join(f"of {name} as {', '.join(offered)}" for name, offered in FORMATS.items())
)
DRAFT_HELP: Final = "Of a format: although values are missing that it needs, without them"
FORM_NAMES: Final = sorted(
    {
        *filter(None, STORED_FORMS),
        *(name for offered in FORMATS.values() for name in offered),
    }
)
FORMAT_NAMES: Final = sorted({*FORM_NAMES, "json"} - {"data", "document"})
FORMAT_HELP: Final = (
    "Written on demand from what was read, or from its approved revision, whatever the job's "
    "mapping; `formats` of the job says which can be"
)
FormatName = Annotated[str, WithJsonSchema({"type": "string", "enum": FORMAT_NAMES})]
FormName = Annotated[str, WithJsonSchema({"type": "string", "enum": FORM_NAMES})]


@router.get(
    "/jobs/{job_id}/download",
    summary="The result of a complete job",
    response_class=Response,
    responses=problems.fault_responses(
        *problems.LOOKUP_FAULTS,
        "BAD_REQUEST",
        "NOT_READY",
        "EXPIRED",
        "GW_4XX",
        "IO_ERROR",
        "DAMAGED",
    )
    | {
        200: {
            "description": "The result",
            "content": {
                "application/json": {},
                "application/xml": {},
                **{
                    form.content_type.partition(";")[0]: {}
                    for offered in FORMATS.values()
                    for form in offered.values()
                },
            },
        }
    },
)
async def download_result(
    job_id: str,
    site: CurrentSite,
    owner: CurrentOwner,
    accept_encoding: Annotated[str | None, Header()] = None,
    form: Annotated[FormName | None, Query(description=FORM_HELP, examples=["data"])] = None,
    written_as: Annotated[FormatName | None, Query(alias="format", description=FORMAT_HELP)] = None,
    original: Annotated[bool, Query(description="As it was read, before any review")] = False,
    draft: Annotated[bool, Query(description=DRAFT_HELP)] = False,
) -> Response:
    async with read_connection(site.pool) as conn:
        job = await find_own_job(conn, owner, job_id)
    if wanted := written_as or (form if form not in STORED_FORMS else None):
        written = await write_download(site, job, wanted, draft=draft)
        return await send_written(site, job, written, PRIVATE)
    async with read_connection(site.pool) as conn:
        if form == "data":
            result = await results.require_reading(conn, job, original=original)
        else:
            result = await results.require_result(conn, job, form, original=original)
    headers = {**PRIVATE, "vary": "Accept-Encoding, Cookie"}
    if params.accepts_gzip(accept_encoding):
        headers["content-encoding"] = "gzip"
    return await send_stored(site, job, result, headers)


async def send_stored(
    site: Site, job: Job, result: StoredResult, headers: Mapping[str, str]
) -> Response:
    """A result as it lies in the store, which is counted as a download."""
    checked = await open_stored(site.pool, site.store, result.key)
    with checked.closing_on_error():
        await _count(site, job)
    ending = SUFFIXES.get(result.content_type, "")
    return CheckedResponse(
        checked,
        headers={**headers, "content-disposition": _download_header(job, ending)},
        media_type=result.content_type,
        packed="content-encoding" in headers,
        handover=DeleteAfterDownload(site, job) if site.config.delete_on_download else None,
    )


@dataclass(frozen=True, slots=True)
class WrittenResult:
    """A result in a form that is written when it is asked for."""

    body: bytes
    form: Format


async def write_download(site: Site, job: Job, name: str, *, draft: bool = False) -> WrittenResult:
    """The data that was found, written anew in a form of its pipeline."""
    offered = formats.find_formats(job.pipeline)
    if name not in offered:
        known = ", ".join([*filter(None, STORED_FORMS), *offered])
        raise params.bad_param("format", f"of {job.pipeline} there is {known}")
    body = await formats.write_format(site, job, offered[name], draft=draft)
    return WrittenResult(body, offered[name])


async def send_written(
    site: Site, job: Job, written: WrittenResult, headers: Mapping[str, str]
) -> Response:
    await _count(site, job)
    headers = {**headers, "content-disposition": _download_header(job, written.form.ending)}
    kind = written.form.content_type
    if not site.config.delete_on_download:
        return Response(written.body, media_type=kind, headers=headers)
    return HandedOver(
        written.body, DeleteAfterDownload(site, job), headers=headers, media_type=kind
    )


async def _count(site: Site, job: Job) -> None:
    async with connection(site.pool) as conn:
        await queries.count_download(conn, job.id)
    site.changes.ring()


class DeleteAfterDownload:
    """Installations may let a result go with its first download, once it was sent to the end.

    It is marked before the last byte goes, as one whose time is over: should we die in that very
    moment, retention finishes it. The mark is taken back when the client did not stay for the end.
    """

    def __init__(self, site: Site, job: Job) -> None:
        self._site: Site = site
        self._job: Job = job

    async def begin(self) -> None:
        with suppress(DocmillError):  # it was handed over all the same, and is forgotten below
            async with connection(self._site.pool) as conn:
                await results.mark_expiring(conn, self._job.id)

    async def undo(self) -> None:
        with suppress(DocmillError):
            async with connection(self._site.pool) as conn:
                await results.restore_expiry(conn, self._job.id, expires_at=self._job.expires_at)

    async def complete(self) -> None:
        for wait in FORGET_WAITS:
            try:
                await self._forget()
            except DocmillError as exc:
                log.warning("result.not_forgotten", job=str(self._job.id), code=exc.fault.code)
                await asyncio.sleep(wait)
            else:
                return

    async def _forget(self) -> None:
        """Bytes that are left behind when we die on the way are noted: the next sweep has them."""
        site = self._site
        async with connection(site.pool) as conn:
            keys = await results.list_result_keys(conn, self._job.id)
            await results.expire_results(conn, [self._job.id])
        site.changes.ring()
        for key in keys:
            await site.store.delete(key)


def _download_header(job: Job, ending: str) -> str:
    return attachment_header((PurePath(job.original_filename).stem or "result") + ending)


PARTIAL_STATUSES: Final = (Status.QUEUED, Status.PROCESSING, Status.FAILED)


class PageText(BaseModel):
    number: int
    width: float = Field(description="In points")
    height: float
    scanned: bool = Field(description="It is a picture, read by OCR")
    text: str


class PartialResult(BaseModel):
    """The pages read so far, in their order."""

    job_id: str
    status: str
    pages_read: int
    pages: list[PageText]


@router.get(
    "/jobs/{job_id}/partial",
    summary="The pages that a conversion under way has read so far",
    response_model=PartialResult,
    responses=problems.fault_responses(*problems.LOOKUP_FAULTS, "NOT_READY")
    | {200: {"content": {"text/plain": {}}}, 303: {"description": "It is complete: the result"}},
)
async def partial_result(
    job_id: str,
    site: CurrentSite,
    owner: CurrentOwner,
    form: Annotated[
        Literal["json", "text"], Query(description="As JSON, or as text alone")
    ] = "json",
) -> Response:
    """Long conversions keep what they have read every few seconds; short ones are sooner over."""
    async with read_connection(site.pool) as conn:
        job = await find_own_job(conn, owner, job_id)
        count = await steps.count_items(conn, job.id, KIND) if job.status in PARTIAL_STATUSES else 0
    if job.status is Status.COMPLETE:
        return RedirectResponse(f"/api/jobs/{job.id}/download?form=data", 303)
    if not count:
        raise DocmillError("NOT_READY", jobId=str(job.id), jobStatus=str(job.status))
    if form == "text":
        body, kind = _write_pages(site, job.id, count, _page_as_text), "text/plain"
    else:
        facts = {"job_id": str(job.id), "status": str(job.status), "pages_read": count}
        body, kind = _write_json(site, job.id, facts), "application/json"
    return StreamingResponse(body, media_type=kind, headers=PRIVATE)


async def _write_json(site: Site, job_id: JobId, facts: dict[str, Any]) -> AsyncIterator[str]:
    yield json.dumps(facts)[:-1] + ', "pages": ['
    comma = ""
    async for text in _write_pages(site, job_id, facts["pages_read"], _page_as_json):
        yield comma + text
        comma = ","
    yield "]}"


async def _write_pages(
    site: Site, job_id: JobId, count: int, write: Callable[[Page], str]
) -> AsyncIterator[str]:
    """One step after the other, so that memory holds one; what comes meanwhile is left out."""
    number = done = 0
    while done < count:
        async with read_connection(site.pool) as conn:
            step = await steps.read_step(conn, job_id, KIND, number)
        if step is None:
            return
        for text in await asyncio.to_thread(_write_step, step.content, write):
            yield text
        number, done = number + 1, done + step.items


def _write_step(content: str, write: Callable[[Page], str]) -> list[str]:
    turned = map(unpack_page, json.loads(content))
    return [write(one.page) for one in turned if one.page]


def _page_as_json(page: Page) -> str:
    return json.dumps(
        {
            "number": page.number,
            "width": page.width,
            "height": page.height,
            "scanned": page.scanned,
            "text": page.text,
        }
    )


def _page_as_text(page: Page) -> str:
    return f"{page.text}\n\n\f"
