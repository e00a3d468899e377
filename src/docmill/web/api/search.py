"""GET /api/search: passages of the owner's documents, by meaning and by words."""

import base64
import binascii
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from docmill.core.owners import Owner
from docmill.db.search import Only
from docmill.web import asking, problems
from docmill.web.deps import Asker, Here
from docmill.web.finding import LONGEST, Place, Question, Scored, find, spans

router = APIRouter(tags=["search"])


class HitShape(BaseModel):
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
    hits: list[HitShape]
    next_cursor: str | None = Field(description="For the next page; null on the last one")


@router.get(
    "/api/search",
    summary="Search the owner's documents: hybrid of meaning and words, best passages first",
    responses=problems.documented("BAD_REQUEST", "UNAUTHORIZED", "DATABASE_DOWN", "BUSY"),
)
async def search_documents(
    here: Here,
    owner: Asker,
    q: Annotated[str, Query(max_length=LONGEST, description="A question, or some words")],
    document: Annotated[str | None, Query(description="Only in the document with this id")] = None,
    filename: Annotated[
        str | None, Query(max_length=200, description="Only where the file's name has this in it")
    ] = None,
    since: Annotated[str | None, Query(description="Only in documents that came since")] = None,
    until: Annotated[str | None, Query(description="Only in documents that came before")] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the page before")] = None,
) -> SearchAnswer:
    only = Only(_id(document), filename or None, _at(since, "since"), _at(until, "until"))
    question = asked(owner, q, only, limit=limit, cursor=cursor)
    if not question.words:
        return SearchAnswer(hits=[], next_cursor=None)
    found = await find(here.services.pool, here.embed, question)
    return SearchAnswer(
        hits=[_shape(one) for one in found.hits],
        next_cursor=cursor_of(found.next) if found.next else None,
    )


def asked(owner: Owner, words: str, only: Only, *, limit: int, cursor: str | None) -> Question:
    plain = " ".join(words.replace("\0", " ").encode(errors="replace").decode().split())
    return Question(owner.key, plain, only, _place(cursor) if cursor else None, limit)


def _shape(one: Scored) -> HitShape:
    hit = one.hit
    return HitShape(
        document_id=str(hit.document_id),
        job_id=str(hit.job_id),
        filename=hit.filename,
        page=hit.page,
        page_size=hit.page_size,
        box=hit.box,
        text=hit.text,
        score=one.score,
        heading=hit.heading,
        highlights=[[*span] for span in spans(hit.marked)],
    )


def _id(text: str | None) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError as exc:
        raise asking.refuse("document", "not the id of a document") from exc


def _at(text: str | None, name: str) -> datetime | None:
    return asking.instant(text, at=name) if text else None


def cursor_of(place: Place) -> str:
    """Opaque to clients: where the next page begins."""
    return base64.urlsafe_b64encode(f"{place.score} {place.id}".encode()).decode().rstrip("=")


def _place(cursor: str) -> Place:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        text = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
        score, _, number = text.partition(" ")
        place = Place(float(score), int(number))
    except (binascii.Error, ValueError) as exc:
        raise asking.refuse("cursor", "not a cursor of ours") from exc
    if not 0 <= place.score <= 1:
        raise asking.refuse("cursor", "not a cursor of ours")
    return place
