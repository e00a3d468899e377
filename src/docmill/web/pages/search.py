"""The search page, and a passage shown where it stands."""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from docmill.core.faults import Faulted
from docmill.db import search
from docmill.db.pool import reading
from docmill.db.search import Asked, Only
from docmill.web import asking
from docmill.web.api.search import asked, cursor_of
from docmill.web.deps import Asker, Here
from docmill.web.finding import LONGEST, Found, find, spans
from docmill.web.pages import render

router = APIRouter(include_in_schema=False)

# Characters of a hit in the list, and before its first mark; its own page shows all of it.
SHOWN: Final = 500
BEFORE: Final = 60


@router.get("/search")
async def search_page(
    request: Request,
    here: Here,
    owner: Asker,
    q: Annotated[str, Query(max_length=LONGEST)] = "",
    filename: Annotated[str, Query(max_length=200)] = "",
    since: Annotated[str, Query(max_length=40)] = "",
    cursor: Annotated[str | None, Query()] = None,
) -> Response:
    only = Only(
        filename=filename or None, since=asking.instant(since, at="since") if since else None
    )
    question = asked(owner, q, only, limit=10, cursor=cursor)
    found = Found([], None)
    if question.words:
        found = await find(here.services.pool, here.embed, question)
    hits = [
        {"hit": one.hit, "score": one.score, "parts": parts(one.hit.text, one.hit.marked, SHOWN)}
        for one in found.hits
    ]
    more = request.url.include_query_params(cursor=cursor_of(found.next)) if found.next else None
    return render.page(
        "search.html", q=q, filename=filename, since=since, hits=hits, asked=bool(question.words),
        further=bool(cursor), more=f"?{more.query}" if more else "",
    )  # fmt: skip


@router.get("/search/passages/{number}")
async def passage_page(
    here: Here, owner: Asker, number: int, q: Annotated[str, Query(max_length=LONGEST)] = ""
) -> Response:
    """One passage of the asker's own; that there is another's is not told."""
    async with reading(here.services.pool) as conn:
        found = await search.hits(conn, Asked(owner.key, q), [number])
    if number not in found:
        raise Faulted("NOT_FOUND")
    hit = found[number]
    return render.page("passage.html", hit=hit, q=q, parts=parts(hit.text, hit.marked))


def parts(text: str, marked: str, most: int | None = None) -> list[tuple[str, bool]]:
    """A text cut where its marks begin and end; which of the pieces are marked.

    Of a text longer than `most`, only the stretch with the most marks.
    """
    marks = [*spans(marked)]
    begin, end = _stretch(text, marks, most) if most else (0, len(text))
    found: list[tuple[str, bool]] = [("… ", False)] if begin else []
    place = begin
    for first, last in marks:
        if begin <= first and last <= end:
            found += [(text[place:first], False), (text[first:last], True)]
            place = last
    found += [(text[place:end], False), (" …" if end < len(text) else "", False)]
    return [part for part in found if part[0]]


def _stretch(text: str, marks: Sequence[tuple[int, int]], most: int) -> tuple[int, int]:
    if len(text) <= most:
        return 0, len(text)
    begins = [0, *(max(0, first - BEFORE) for first, _ in marks)]
    begin = max(begins, key=lambda at: sum(at <= a and b <= at + most for a, b in marks))
    begin = text.find(" ", begin) + 1 if begin else 0
    space = text.rfind(" ", begin, begin + most)
    return begin, space if begin + most < len(text) and space > begin else begin + most
