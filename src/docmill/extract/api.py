"""GET /api/search: passages of the owner's documents, by meaning and by words."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from docmill.core.owners import Owner
from docmill.extract import search
from docmill.extract.queries import SearchFilter
from docmill.extract.search import (
    MAX_QUESTION,
    RankCursorText,
    RankPosition,
    ScoredHit,
    SearchModel,
    SearchRequest,
    find_passages,
    find_spans,
)
from docmill.web import params, problems
from docmill.web.params import IdText, MomentText
from docmill.web.site import CurrentOwner, CurrentSite

router = APIRouter(tags=["search"])


class SearchHit(BaseModel):
    """One passage: where it is, and what it says."""

    document_id: str
    job_id: str
    filename: str
    page: int
    page_size: list[float] | None = Field(description="Width and height in points")
    box: list[float] | None = Field(description="x0, y0, x1, y1 in points from the top left")
    text: str
    score: float = Field(description="From 0 to 1: nearness in meaning, and the words it has")
    heading: str = Field(description="The headings above it, outermost first")
    highlights: list[list[int]] = Field(description="Where in the text the words asked for are")


class SearchAnswer(BaseModel):
    hits: list[SearchHit]
    next_cursor: str | None = Field(description="For the next page; null on the last one")


@router.get(
    "/api/search",
    summary="Search the owner's documents: hybrid of meaning and words, best passages first",
    responses=problems.fault_responses("BAD_REQUEST", "UNAUTHORIZED", "DATABASE_DOWN", "BUSY"),
)
async def search_documents(
    site: CurrentSite,
    owner: CurrentOwner,
    q: Annotated[str, Query(max_length=MAX_QUESTION, description="A question, or some words")],
    document: Annotated[
        IdText | None, Query(description="Only in the document with this id")
    ] = None,
    filename: Annotated[
        str | None, Query(max_length=200, description="Only where the file's name has this in it")
    ] = None,
    since: Annotated[
        MomentText | None, Query(description="Only in documents that came since")
    ] = None,
    until: Annotated[
        MomentText | None, Query(description="Only in documents that came before")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor: RankCursorText = None,
) -> SearchAnswer:
    only = SearchFilter(
        _parse_id(document),
        filename or None,
        _parse_instant(since, "since"),
        _parse_instant(until, "until"),
    )
    question = build_request(owner, q, only, limit=limit, cursor=cursor)
    if not question.words:
        return SearchAnswer(hits=[], next_cursor=None)
    found = await find_passages(site.pool, site.find(SearchModel).embed, question)
    return SearchAnswer(
        hits=[_to_hit(one) for one in found.hits],
        next_cursor=search.write_rank_cursor(found.next) if found.next else None,
    )


def build_request(
    owner: Owner, words: str, only: SearchFilter, *, limit: int, cursor: str | None
) -> SearchRequest:
    plain = " ".join(words.replace("\0", " ").encode(errors="replace").decode().split())
    return SearchRequest(owner.key, plain, only, _read_cursor(cursor) if cursor else None, limit)


def _to_hit(one: ScoredHit) -> SearchHit:
    hit = one.hit
    return SearchHit(
        document_id=str(hit.document_id),
        job_id=str(hit.job_id),
        filename=hit.filename,
        page=hit.page,
        page_size=hit.page_size,
        box=hit.box,
        text=hit.text,
        score=one.score,
        heading=hit.heading,
        highlights=[[*span] for span in find_spans(hit.marked)],
    )


def _parse_id(text: str | None) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError as exc:
        raise params.bad_param("document", "not the id of a document") from exc


def _parse_instant(text: str | None, name: str) -> datetime | None:
    return params.parse_instant(text, at=name) if text else None


def _read_cursor(cursor: str) -> RankPosition:
    try:
        return search.read_rank_cursor(cursor)
    except ValueError as exc:
        raise params.bad_param("cursor", "not a cursor of ours") from exc
