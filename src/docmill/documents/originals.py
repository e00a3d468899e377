"""The file behind a job, as it came: to be saved, never to be run in the page's place."""

from datetime import timedelta
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import Response

from docmill.core.faults import DocmillError
from docmill.core.jobs import DocumentId
from docmill.core.owners import Owner, may_see
from docmill.core.plugins import PDF
from docmill.core.texts import clean_text
from docmill.db import wall
from docmill.db.pool import Connection, connection, read_connection
from docmill.documents import queries
from docmill.documents.content_types import CONTENT_TYPES, detect_type
from docmill.documents.links import SignedLinks
from docmill.documents.queries import DocumentRow
from docmill.documents.stored import open_stored
from docmill.queue import enqueue
from docmill.queue.enqueue import find_own_job
from docmill.web import problems
from docmill.web.params import Instant
from docmill.web.responses import CheckedResponse, attachment_header, disposition_header
from docmill.web.site import CurrentOwner, CurrentSite, Site

router = APIRouter(prefix="/api/jobs", tags=["results"])


@router.get(
    "/{job_id}/original",
    summary="The file that was uploaded",
    response_class=Response,
    responses=problems.fault_responses(*problems.LOOKUP_FAULTS, "EXPIRED", "IO_ERROR", "DAMAGED")
    | {200: {"description": "The file", "content": {kind: {} for kind in CONTENT_TYPES}}},
)
async def download_original(job_id: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    async with read_connection(site.pool) as conn:
        job = await find_own_job(conn, owner, job_id)
    if job.upload_key is None:
        raise DocmillError("EXPIRED", jobId=str(job.id))
    checked = await open_stored(site.pool, site.store, job.upload_key)
    with checked.closing_on_error():
        async with connection(site.pool) as conn:
            await enqueue.record_view(conn, job.id)
    headers = {
        "content-disposition": attachment_header(job.original_filename),
        "content-security-policy": "default-src 'none'; sandbox",
        "cache-control": "private, no-store",
    }
    return CheckedResponse(checked, media_type=job.content_type, headers=headers)


files_router = APIRouter(tags=["results"])


@files_router.get(
    "/files/{key:path}",
    summary="A stored file, by an address that was signed for a while",
    response_class=Response,
    responses=problems.fault_responses(
        "LINK_EXPIRED", "EXPIRED", "IO_ERROR", "DAMAGED", "BAD_REQUEST"
    )
    | {200: {"description": "The file", "content": {kind: {} for kind in CONTENT_TYPES}}},
)
async def signed_file(
    key: str,
    site: CurrentSite,
    until: Annotated[int, Query(ge=0, le=1 << 40, description="Seconds since 1970")],
    signature: Annotated[str, Query(max_length=64)],
    name: Annotated[str, Query(max_length=255)] = "",
) -> Response:
    """The address itself is the permission; nobody is asked who he is."""
    await site.find(SignedLinks).check(f"{key}\n{name}", until, signature)
    with wall.beyond():
        checked = await open_stored(site.pool, site.store, key)
    kind = detect_type(checked.head())
    # A browser shows a PDF in a viewer of its own; anything else might be a page of ours to it.
    way = "inline" if kind == PDF else "attachment"
    headers = {
        "content-disposition": disposition_header(way, name or "document"),
        "cache-control": "private, no-store",
    }
    return CheckedResponse(checked, headers=headers, media_type=kind)


LINK_LIFETIME: Final = timedelta(hours=1)


async def require_document(conn: Connection, owner: Owner, document_id: str) -> DocumentRow:
    """The document, if there is one and the asker may see it; not what was never taken in."""
    document = await require_listed(conn, owner, document_id)
    if document.sha256 is None:
        raise DocmillError("DOCUMENT_NOT_FOUND", documentId=str(document.id))
    return document


async def require_listed(conn: Connection, owner: Owner, document_id: str) -> DocumentRow:
    """Whatever a list of documents shows, objects that were rejected as well."""
    try:
        wanted = DocumentId(UUID(document_id))
        document = await queries.find_document_row(conn, wanted)
        if document is None and await wall.is_known(conn, "documents", wanted):
            raise DocmillError("FORBIDDEN", documentId=str(wanted))
    except ValueError:
        document = None
    if document is None:
        raise DocmillError("DOCUMENT_NOT_FOUND", documentId=clean_text(document_id)[:64])
    if not may_see(owner, document.owner):
        raise DocmillError("FORBIDDEN", documentId=str(document.id))
    return document


class PdfAnswer(BaseModel):
    """Where the exact file is, for an hour."""

    document_id: str
    original_filename: str
    sender_email: str | None
    received_at: Instant
    pdf_url: str
    expires_in_seconds: int


async def make_pdf_link(site: Site, document: DocumentRow, base: str) -> PdfAnswer:
    if document.upload_key is None:
        raise DocmillError("EXPIRED", documentId=str(document.id))
    name = document.original_filename
    # Now, and not only when the link is opened: some stores serve their links themselves.
    (await open_stored(site.pool, site.store, document.upload_key)).close()
    url = await site.find(SignedLinks).url(
        document.upload_key, expires=LINK_LIFETIME, base=base, filename=name
    )
    return PdfAnswer(
        document_id=str(document.id),
        original_filename=name,
        sender_email=document.sender_email,
        received_at=document.received_at,
        pdf_url=url,
        expires_in_seconds=int(LINK_LIFETIME.total_seconds()),
    )
