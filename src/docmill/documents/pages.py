"""The pages of documents with their states, and of buckets: how each adds up, and its pause."""

from typing import Annotated, Final, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from docmill.core.documents import DocumentState
from docmill.db.pool import read_connection
from docmill.documents import buckets, queries, sources
from docmill.documents.api import document_pdf, retry_document, shape_document
from docmill.documents.bucket_monitor import WatchedBuckets, list_objects, sum_counts
from docmill.documents.buckets import STATES
from docmill.documents.queries import DocumentFilter
from docmill.documents.source_api import change_pause
from docmill.web import params, problems, render
from docmill.web.params import Cursor, CursorText
from docmill.web.site import CurrentOwner, CurrentSite

router = APIRouter(include_in_schema=False)
# Programs POST to the same address, so the API's document says what a GET of it is.
declared_router = APIRouter(tags=["documents"])


@declared_router.get(
    "/documents",
    summary="The page of documents, for people",
    response_class=HTMLResponse,
    responses=problems.fault_responses("BAD_REQUEST", "UNAUTHORIZED", "DATABASE_DOWN", "BUSY"),
)
async def documents_page(
    site: CurrentSite,
    owner: CurrentOwner,
    state: Annotated[DocumentState | Literal[""], Query()] = "",
    cursor: CursorText = None,
    again: str = "",
) -> Response:
    after = params.parse_cursor(cursor) if cursor else None
    only = DocumentFilter(state=state or None)
    async with read_connection(site.pool) as conn:
        found = await queries.list_documents(conn, owner, only, after=after, limit=ROWS_SHOWN + 1)
        counts = await queries.count_states(conn, owner)
    page, last = params.cut_page(found, ROWS_SHOWN, lambda row: Cursor(row.received_at, row.id))
    seen = site.find(WatchedBuckets).seen_by(owner)
    return render.render_page(
        "documents.html",
        documents=[shape_document(row) for row in page],
        counts=counts,
        state=state,
        meaning=state.meaning if state else "",
        next_cursor=last,
        bucket=seen[0].place if seen else "",
        said="The document is read again." if again else "",
    )


@router.get("/documents/{document_id}/pdf")
async def view_pdf(
    document_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> Response:
    answer = await document_pdf(document_id, request, site, owner)
    return RedirectResponse(answer.pdf_url, status_code=303)


@router.post("/documents/{document_id}/retry")
async def read_again(
    document_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> Response:
    await retry_document(document_id, site, owner)
    state = str((await request.form()).get("state", ""))
    return RedirectResponse(f"/documents?{urlencode({'state': state, 'again': 1})}", 303)


@router.post("/sources/{name}/pause")
async def pause_source(name: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    await change_pause(site, owner, name, paused=True)
    return _show_source(name)


@router.post("/sources/{name}/resume")
async def resume_source(name: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    await change_pause(site, owner, name, paused=False)
    return _show_source(name)


def _show_source(name: str) -> Response:
    """Back to the page of buckets, which shows the pause."""
    return RedirectResponse(f"/bucket?{urlencode({'source': name})}", status_code=303)


ROWS_SHOWN: Final = 50


@router.get("/bucket")
async def bucket_page(
    site: CurrentSite, owner: CurrentOwner, state: str = "", cursor: str = "", source: str = ""
) -> Response:
    watched = site.find(WatchedBuckets).find(owner, source)
    if state and state not in STATES:
        raise params.bad_param("state", f"one of {', '.join(STATES)}")
    async with read_connection(site.pool) as conn:
        counts = await buckets.last_counts(conn, watched.source)
        known = await sources.list_rows(conn, owner)
    lines, last = await list_objects(
        site.pool, owner, state=state or None, cursor=cursor, limit=ROWS_SHOWN
    )
    return render.render_page(
        "bucket.html",
        counts=counts,
        total=sum_counts(counts),
        watched=watched,
        sources=known,
        objects=lines,
        state=state,
        states=STATES,
        next_cursor=last,
    )


@router.post("/bucket/count")
async def count_bucket(site: CurrentSite, owner: CurrentOwner, source: str = "") -> Response:
    """Back to the page, which tells the new count or that it is under way."""
    watched = site.find(WatchedBuckets).find(owner, source)
    await watched.count_now()
    asked = f"?{urlencode({'source': watched.source})}" if source else ""
    return RedirectResponse(f"/bucket{asked}", status_code=303)
