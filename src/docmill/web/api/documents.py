"""Documents: listed, looked at, opened, read again one by one or many at once."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from docmill.core.faults import Faulted
from docmill.db import papers, trades
from docmill.db.papers import Filter, Paper
from docmill.db.pool import connection, reading
from docmill.ingest import again
from docmill.web import asking, bodies, problems
from docmill.web.deps import Asker, Here
from docmill.web.shapes import Instant
from docmill.web.trades import PdfAnswer, TradeShape, pdf_of, seen_paper, shape

router = APIRouter(prefix="/api", tags=["documents"])

LOOKUP: Final = ("UNAUTHORIZED", "FORBIDDEN", "DOCUMENT_NOT_FOUND", "DATABASE_DOWN", "BUSY")
JobStatus = Literal["uploaded", "queued", "processing", "complete", "failed", "cancelled"]


class DocumentShape(BaseModel):
    document_id: str
    original_filename: str
    sender_email: str | None
    content_type: str
    bytes: int
    sha256: str
    source: str = Field(examples=["bucket"])
    received_at: Instant
    stored: bool = Field(description="Whether the file is still there")
    job_id: str | None = Field(description="The latest job over it")
    pipeline: str | None
    status: str | None
    error_code: str | None
    trade_count: int


class DocumentList(BaseModel):
    documents: list[DocumentShape]
    next_cursor: str | None


class DocumentDetail(DocumentShape):
    trades: list[TradeShape]


class Again(BaseModel):
    """Which documents, by the state of their latest job and where they came from."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", title="Reprocess")

    status: JobStatus | None = None
    pipeline: str | None = None
    source: Literal["upload", "api", "bucket", "manual"] | None = None
    error_code: str | None = None
    received_from: datetime | None = None
    received_until: datetime | None = None
    sender: str | None = None
    limit: int = Field(again.MOST, ge=1, le=again.MOST)


class BatchShape(BaseModel):
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


def shown(paper: Paper) -> DocumentShape:
    return DocumentShape(
        document_id=str(paper.id),
        original_filename=paper.original_filename,
        sender_email=paper.sender_email,
        content_type=paper.content_type,
        bytes=paper.bytes,
        sha256=paper.sha256,
        source=paper.source,
        received_at=paper.received_at,
        stored=paper.upload_key is not None,
        job_id=str(paper.job_id) if paper.job_id else None,
        pipeline=paper.pipeline,
        status=paper.status,
        error_code=paper.error_code,
        trade_count=paper.trades,
    )


@router.get(
    "/documents",
    summary="One's own documents and those of one's desks, newest first",
    responses=problems.documented("BAD_REQUEST", "UNAUTHORIZED", "DATABASE_DOWN", "BUSY"),
)
async def list_documents(
    here: Here,
    owner: Asker,
    status: Annotated[JobStatus | None, Query(description="Of the latest job")] = None,
    pipeline: Annotated[str | None, Query(max_length=64)] = None,
    source: Annotated[Literal["upload", "api", "bucket", "manual"] | None, Query()] = None,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the page before")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> DocumentList:
    after = asking.trade_place(cursor) if cursor else None
    only = Filter(status, pipeline.replace("\x00", "") if pipeline else None, source)
    async with reading(here.services.pool) as conn:
        found = await papers.page(conn, owner, only, after=after, limit=limit + 1)
    page, more = found[:limit], len(found) > limit
    last = asking.cursor_at(page[-1].received_at, page[-1].id) if more else None
    return DocumentList(documents=[shown(paper) for paper in page], next_cursor=last)


@router.get(
    "/documents/{document_id}",
    summary="One document with its trades",
    responses=problems.documented(*LOOKUP),
)
async def one_document(document_id: str, here: Here, owner: Asker) -> DocumentDetail:
    async with reading(here.services.pool) as conn:
        paper = await seen_paper(conn, owner, document_id)
        found = await trades.of_document(conn, paper.id)
    return DocumentDetail(**dict(shown(paper)), trades=[shape(trade) for trade in found])


@router.get(
    "/documents/{document_id}/pdf",
    summary="The exact file, by an address that lasts an hour",
    responses=problems.documented(*LOOKUP, "EXPIRED", "IO_ERROR"),
)
async def document_pdf(document_id: str, request: Request, here: Here, owner: Asker) -> PdfAnswer:
    async with reading(here.services.pool) as conn:
        paper = await seen_paper(conn, owner, document_id)
    return await pdf_of(here, paper, str(request.base_url))


@router.post(
    "/documents/{document_id}/retry",
    summary="Read a document again: its failed job, or a new one",
    responses=problems.documented(*LOOKUP, "CROSS_SITE", "WRONG_STATE", "EXPIRED"),
)
async def retry_document(document_id: str, here: Here, owner: Asker) -> RetryAnswer:
    async with connection(here.services.pool) as conn:
        paper = await seen_paper(conn, owner, document_id)
        if paper.upload_key is None:
            raise Faulted("EXPIRED", documentId=str(paper.id))
        job_id = await again.retry(conn, paper.id)
        if job_id is None:
            raise Faulted("WRONG_STATE", documentId=str(paper.id), jobStatus=str(paper.status))
    here.services.work.ring()
    here.services.changes.ring()
    return RetryAnswer(success=True, document_id=str(paper.id), job_id=str(job_id))


@router.post(
    "/reprocess",
    summary=f"Read again all documents a filter finds, {again.MOST} at most",
    openapi_extra=bodies.documented(Again.model_json_schema()),
    responses=problems.documented(
        "BAD_REQUEST", "UNAUTHORIZED", "CROSS_SITE", "DATABASE_DOWN", "BUSY"
    ),
)
async def reprocess(request: Request, here: Here, owner: Asker) -> BatchShape:
    """Each document gets a job of its own; ask GET /api/reprocess/{id} how far they are.

    Trades that nobody reviewed are replaced by what is read now; reviewed ones stay.
    """
    wish = await bodies.read(request, Again)
    only = Filter(**wish.model_dump(exclude={"limit"}))
    async with connection(here.services.pool) as conn:
        batch_id = await again.reprocess(conn, owner, only, wish.limit)
        batch = await papers.batch(conn, batch_id)
    here.services.work.ring()
    here.services.changes.ring()
    assert batch is not None, "written in this transaction"
    return _batch(batch)


@router.get(
    "/reprocess/{batch_id}",
    summary="How far a reprocessing is",
    responses=problems.documented(*LOOKUP),
)
async def one_reprocess(batch_id: str, here: Here, owner: Asker) -> BatchShape:
    async with reading(here.services.pool) as conn:
        found = await papers.batch(conn, _identity(batch_id))
    if found is None:
        raise Faulted("DOCUMENT_NOT_FOUND", batchId=batch_id[:64])
    if found.owner != owner.key:
        raise Faulted("FORBIDDEN", batchId=str(found.id))
    return _batch(found)


def _identity(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as exc:
        raise Faulted("DOCUMENT_NOT_FOUND", batchId=text.replace("\x00", "")[:64]) from exc


def _batch(found: papers.Batch) -> BatchShape:
    done = found.complete + found.failed
    return BatchShape(
        id=str(found.id),
        status="complete" if done >= found.total else "processing",
        progress=100 * done // found.total if found.total else 100,
        total=found.total,
        complete=found.complete,
        failed=found.failed,
        asked=found.asked,
        created_at=found.created_at,
    )
