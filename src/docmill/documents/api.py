"""Documents: listed, looked at, opened, read again one by one or many at once."""

from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from docmill.core.documents import DocumentState, clean_filename
from docmill.core.faults import DocmillError
from docmill.core.owners import Owner
from docmill.db import wall
from docmill.db.pool import Connection, read_connection, write
from docmill.documents import buckets, queries
from docmill.documents import reprocess as reprocessing
from docmill.documents.bucket_monitor import ObjectLine, WatchedBuckets, list_objects
from docmill.documents.buckets import ObjectState
from docmill.documents.originals import PdfAnswer, make_pdf_link, require_document
from docmill.documents.previews import PageViews, run_unless_gone
from docmill.documents.queries import DocumentFilter, DocumentRow, ReprocessBatch
from docmill.queue.enqueue import find_visible_job
from docmill.sandbox.outcome import RunReturned
from docmill.storage.names import display_name
from docmill.web import json_body, params, problems
from docmill.web.params import Cursor, CursorText, Instant
from docmill.web.site import CurrentOwner, CurrentSite, Site

router = APIRouter(prefix="/api", tags=["documents"])

DOCUMENT_LOOKUP: Final = (
    "UNAUTHORIZED", "FORBIDDEN", "DOCUMENT_NOT_FOUND", "DATABASE_DOWN", "BUSY",
)  # fmt: skip
Source = Literal["upload", "api", "bucket", "manual"]


class ListedDocument(BaseModel):
    document_id: str
    original_filename: str
    sender_email: str | None
    content_type: str | None = Field(description="None for what was never read")
    bytes: int
    sha256: str | None
    source: str = Field(examples=["bucket"])
    received_at: Instant
    stored: bool = Field(description="Whether the file is still there")
    job_id: str | None = Field(description="The latest job over it")
    pipeline: str | None
    state: DocumentState
    reason: str | None = Field(description="Why it is in this state, where there is more to say")
    attempts: int = Field(description="How often it was tried")
    status: str | None = Field(description="Of the latest job")
    error_code: str | None
    trade_count: int


COPIED: Final = frozenset(ListedDocument.model_fields) & {
    each.name for each in fields(DocumentRow)
} - {"job_id", "original_filename"}


class DocumentList(BaseModel):
    documents: list[ListedDocument]
    next_cursor: str | None


class DocumentCounts(BaseModel):
    """One's own documents and those of one's desks."""

    states: dict[DocumentState, int] = Field(description="How many are in each state")
    total: int


# A document's own state, or, as before there were states, a status of its latest job.
DocumentStatus = Literal[
    "pending", "processing", "parsed", "no_trades", "rejected", "failed", "expired",
    "uploaded", "queued", "complete", "cancelled",
]  # fmt: skip


class ReprocessRequest(BaseModel):
    """Which documents, by the state of their latest job and where they came from."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", title="Reprocess")

    status: DocumentStatus | None = None
    pipeline: str | None = None
    source: Source | None = None
    error_code: str | None = None
    received_from: params.Moment | None = None
    received_until: params.Moment | None = None
    sender: str | None = None
    limit: json_body.WholeNumber = Field(
        reprocessing.MOST_DOCUMENTS, ge=1, le=reprocessing.MOST_DOCUMENTS
    )


class ReprocessState(BaseModel):
    id: str
    status: str = Field(examples=["processing"])
    progress: int = Field(description="Per cent of the documents that are done")
    total: int
    complete: int
    failed: int
    asked: dict[str, Any]
    created_at: Instant


class RetryAnswer(BaseModel):
    success: bool
    document_id: str
    job_id: str


def shape_document(row: DocumentRow) -> ListedDocument:
    return ListedDocument(
        document_id=str(row.id),
        original_filename=clean_filename(display_name(row.original_filename)),
        stored=row.upload_key is not None,
        job_id=str(row.job_id) if row.job_id else None,
        trade_count=row.trades,
        **{name: getattr(row, name) for name in COPIED},
    )


@router.get(
    "/documents",
    summary="One's own documents and those of one's desks, newest first",
    responses=problems.fault_responses("BAD_REQUEST", "UNAUTHORIZED", "DATABASE_DOWN", "BUSY"),
)
async def list_documents(
    site: CurrentSite,
    owner: CurrentOwner,
    status: Annotated[
        DocumentStatus | None,
        Query(description="A state of the document, or a status of its latest job"),
    ] = None,
    pipeline: Annotated[str | None, Query(max_length=64)] = None,
    source: Annotated[Source | None, Query()] = None,
    cursor: CursorText = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> DocumentList:
    after = params.parse_cursor(cursor) if cursor else None
    only = replace(filter_by_status(status), pipeline=pipeline or None, source=source)
    async with read_connection(site.pool) as conn:
        found = await queries.list_documents(conn, owner, only, after=after, limit=limit + 1)
    page, last = params.cut_page(found, limit, lambda row: Cursor(row.received_at, row.id))
    return DocumentList(documents=[shape_document(row) for row in page], next_cursor=last)


def filter_by_status(word: DocumentStatus | None) -> DocumentFilter:
    if word in set(DocumentState):
        return DocumentFilter(state=word)
    return DocumentFilter(status=word)


@router.get(
    "/documents/counts",
    summary="How many documents are in each state",
    responses=problems.fault_responses("UNAUTHORIZED", "DATABASE_DOWN", "BUSY"),
)
async def count_documents(site: CurrentSite, owner: CurrentOwner) -> DocumentCounts:
    async with read_connection(site.pool) as conn:
        states = await queries.count_states(conn, owner)
    return DocumentCounts(states=states, total=sum(states.values()))


@router.get(
    "/documents/{document_id}/pdf",
    summary="The exact file, by an address that lasts an hour",
    responses=problems.fault_responses(*DOCUMENT_LOOKUP, "EXPIRED", "IO_ERROR", "DAMAGED"),
)
async def document_pdf(
    document_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> PdfAnswer:
    async with read_connection(site.pool) as conn:
        document = await require_document(conn, owner, document_id)
    return await make_pdf_link(site, document, str(request.base_url))


@router.post(
    "/documents/{document_id}/retry",
    summary="Read a document again: its failed job, or a new one",
    responses=problems.fault_responses(*DOCUMENT_LOOKUP, "CROSS_SITE", "WRONG_STATE", "EXPIRED"),
)
async def retry_document(document_id: str, site: CurrentSite, owner: CurrentOwner) -> RetryAnswer:
    async def retry(conn: Connection) -> RetryAnswer:
        document = await require_document(conn, owner, document_id)
        if document.upload_key is None:
            raise DocmillError("EXPIRED", documentId=str(document.id))
        job_id = await reprocessing.retry(conn, document.id)
        if job_id is None:
            raise DocmillError(
                "WRONG_STATE", documentId=str(document.id), jobStatus=str(document.status)
            )
        return RetryAnswer(success=True, document_id=str(document.id), job_id=str(job_id))

    answer = await write(site.pool, retry)
    site.work.ring()
    site.changes.ring()
    return answer


@router.post(
    "/reprocess",
    summary=f"Read again all documents a filter finds, {reprocessing.MOST_DOCUMENTS} at most",
    openapi_extra=json_body.describe_body(ReprocessRequest.model_json_schema()),
    responses=problems.fault_responses(
        "BAD_REQUEST", "UNAUTHORIZED", "CROSS_SITE", "DATABASE_DOWN", "BUSY"
    ),
)
async def reprocess(request: Request, site: CurrentSite, owner: CurrentOwner) -> ReprocessState:
    """Each document gets a job of its own; ask GET /api/reprocess/{id} how far they are.

    Trades that nobody reviewed are replaced by what is read now; reviewed ones stay.
    """
    wish = await json_body.read_json(request, ReprocessRequest)
    only = replace(filter_by_status(wish.status), **wish.model_dump(exclude={"limit", "status"}))

    async def begin(conn: Connection) -> ReprocessBatch | None:
        return await queries.find_batch(
            conn, await reprocessing.reprocess(conn, owner, only, wish.limit)
        )

    batch = await write(site.pool, begin)
    site.work.ring()
    site.changes.ring()
    assert batch is not None, "written in this transaction"
    return _shape_batch(batch)


@router.get(
    "/reprocess/{batch_id}",
    summary="How far a reprocessing is",
    responses=problems.fault_responses(*DOCUMENT_LOOKUP),
)
async def show_reprocess(batch_id: str, site: CurrentSite, owner: CurrentOwner) -> ReprocessState:
    async with read_connection(site.pool) as conn:
        wanted = _parse_batch_id(batch_id)
        found = await queries.find_batch(conn, wanted)
        is_hidden = found is None and await wall.is_known(conn, "reprocesses", wanted)
    if is_hidden:
        raise DocmillError("FORBIDDEN", batchId=str(wanted))
    if found is None:
        raise DocmillError("DOCUMENT_NOT_FOUND", batchId=batch_id[:64])
    if found.owner != owner.key:
        raise DocmillError("FORBIDDEN", batchId=str(found.id))
    return _shape_batch(found)


def _parse_batch_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as exc:
        raise DocmillError("DOCUMENT_NOT_FOUND", batchId=text.replace("\x00", "")[:64]) from exc


def _shape_batch(found: queries.ReprocessBatch) -> ReprocessState:
    done = found.complete + found.failed
    return ReprocessState(
        id=str(found.id),
        status="complete" if done >= found.total else "processing",
        progress=100 * done // found.total if found.total else 100,
        total=found.total,
        complete=found.complete,
        failed=found.failed,
        asked=found.asked,
        created_at=found.created_at,
    )


bucket_router = APIRouter(prefix="/api", tags=["bucket"])


class PrefixCount(BaseModel):
    """objects = done + failed + waiting + unknown."""

    prefix: str = Field(examples=["incoming", "processing", "archive", "failed"])
    objects: int
    done: int
    failed: int
    waiting: int
    unknown: int = Field(description="In the bucket and in no row; should be 0")
    missing: int = Field(description="In a row and not in the bucket; should be 0")
    counted_at: datetime | None


class BucketAnswer(BaseModel):
    prefixes: list[PrefixCount] = Field(description="Empty until a poller has counted")


@bucket_router.get(
    "/bucket",
    summary="How the bucket adds up, as last counted",
    responses=problems.fault_responses(
        "BAD_REQUEST", "UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND", "DATABASE_DOWN", "BUSY"
    ),
)
async def show_bucket(
    site: CurrentSite,
    owner: CurrentOwner,
    source: Annotated[str, Query(max_length=64, description="Of several; default: the first")] = "",
) -> BucketAnswer:
    """Counted once a day by the pollers, at once by `docmill reconcile` and on the bucket page."""
    watched = site.find(WatchedBuckets).find(owner, source)
    async with read_connection(site.pool) as conn:
        counts = await buckets.last_counts(conn, watched.source)
    return BucketAnswer(
        prefixes=[PrefixCount.model_validate(count, from_attributes=True) for count in counts]
    )


class ObjectShape(BaseModel):
    """An object that was dropped into a bucket. Refused ones have a code and a reason."""

    id: str = Field(description="Also the id of the document it became")
    bucket: str
    source: str | None = Field(description="Name of the source it came by")
    key: str = Field(description="Where it came in, cleaned for showing")
    filename: str
    bytes: int
    state: ObjectState
    place: str = Field(description="Where it lies, as far as is known")
    code: str | None = Field(examples=["NOT_PDF"])
    reason: str | None
    job_id: str | None
    registered_at: Instant
    changed_at: Instant


class ObjectList(BaseModel):
    objects: list[ObjectShape]
    next_cursor: str | None


@bucket_router.get(
    "/bucket/objects",
    summary="Every object that came by the bucket, newest first, refused ones included",
    responses=problems.fault_responses(
        "BAD_REQUEST", "UNAUTHORIZED", "FORBIDDEN", "DATABASE_DOWN", "BUSY"
    ),
)
async def list_bucket_objects(
    site: CurrentSite,
    owner: CurrentOwner,
    state: Annotated[ObjectState | None, Query(description="Only these")] = None,
    cursor: CursorText = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> ObjectList:
    site.find(WatchedBuckets).find(owner)
    lines, last = await list_objects(site.pool, owner, state=state, cursor=cursor, limit=limit)
    return ObjectList(objects=[_shape_object(line) for line in lines], next_cursor=last)


def _shape_object(line: ObjectLine) -> ObjectShape:
    one = line.row
    return ObjectShape(
        id=str(one.id),
        bucket=one.bucket,
        source=one.source,
        key=line.key,
        filename=line.filename,
        bytes=one.bytes,
        state=one.state,
        place=line.place,
        code=one.code,
        reason=one.reason,
        job_id=str(one.job_id) if one.job_id else None,
        registered_at=one.registered_at,
        changed_at=one.changed_at,
    )


pages_router = APIRouter(prefix="/api/jobs/{job_id}/pages", tags=["reviews"])

PAGE_FAULTS: Final = problems.fault_responses(
    *problems.LOOKUP_FAULTS, "EXPIRED", "NOT_FOUND", "BAD_PDF", "TIMED_OUT", "DAMAGED"
)
THUMBNAIL_PIXELS: Final = 160  # on its longer side
Number = Annotated[int, Path(ge=1, le=100_000, description="Counted from 1")]


@dataclass(frozen=True, slots=True)
class PageContext:
    """The site, and the request that is given up when its client goes."""

    site: Site
    request: Request


async def page_context(site: CurrentSite, request: Request) -> PageContext:
    return PageContext(site, request)


Context = Annotated[PageContext, Depends(page_context)]
KnownTag = Annotated[str | None, Header(alias="if-none-match")]


@pages_router.get(
    "/{number}.png",
    summary="A page as a picture",
    response_class=Response,
    responses=PAGE_FAULTS
    | {200: {"description": "The picture", "content": {"image/png": {}}}, 304: {"description": ""}},
)
async def page_picture(
    job_id: str, number: Number, place: Context, owner: CurrentOwner, small: bool = False
) -> Response:
    """Drawn in a confined child, at 144 dpi or what keeps it within four million pixels; with
    `small` as a thumbnail."""
    found = await _draw_page(job_id, number, place, owner, wide=THUMBNAIL_PIXELS if small else 0)
    return _make_cacheable(
        found.artifact.content if found.artifact else b"",
        "image/png",
        f'"{job_id[:8]}-{number}-{"s" if small else ""}1"',
        place.request.headers.get("if-none-match"),
    )


@pages_router.get(
    "/{number}.json",
    summary="A page's size in points, and its words with their boxes",
    response_class=Response,
    responses=PAGE_FAULTS | {200: {"description": "The page", "content": {"application/json": {}}}},
)
async def page_words(
    job_id: str, number: Number, place: Context, owner: CurrentOwner, known: KnownTag = None
) -> Response:
    """A word is `[text, x0, y0, x1, y1]`; a page that is a picture has none."""
    found = await _draw_page(job_id, number, place, owner)
    return _make_cacheable(found.data, "application/json", f'"{job_id[:8]}-{number}-w1"', known)


async def _draw_page(
    job_id: str, number: int, place: PageContext, owner: Owner, *, wide: int = 0
) -> RunReturned:
    async with read_connection(place.site.pool) as conn:
        job = await find_visible_job(conn, owner, job_id)
    return await run_unless_gone(
        place.request, place.site.find(PageViews).page(job, number, owner.key, wide=wide)
    )


def _make_cacheable(body: bytes, kind: str, etag: str, known: str | None) -> Response:
    """A document never changes, so browsers keep its pages; the owner is asked for each time."""
    headers = {"etag": etag, "cache-control": "private, max-age=600", "vary": "Cookie"}
    if known and etag in known:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=kind, headers=headers)
