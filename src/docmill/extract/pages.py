"""The search page, and a passage shown where it stands."""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from docmill.core.faults import DocmillError
from docmill.db.pool import read_connection
from docmill.extract import queries, search
from docmill.extract.api import build_request
from docmill.extract.queries import SearchFilter, SearchQuery
from docmill.extract.search import MAX_QUESTION, SearchModel, SearchPage, find_passages, find_spans
from docmill.web import params, render
from docmill.web.site import CurrentOwner, CurrentSite

router = APIRouter(include_in_schema=False)

# Characters of a hit in the list, and before its first mark; its own page shows all of it.
SHOWN: Final = 500
BEFORE: Final = 60


@router.get("/search")
async def search_page(
    request: Request,
    site: CurrentSite,
    owner: CurrentOwner,
    q: Annotated[str, Query(max_length=MAX_QUESTION)] = "",
    filename: Annotated[str, Query(max_length=200)] = "",
    since: Annotated[str, Query(max_length=40)] = "",
    cursor: Annotated[str | None, Query()] = None,
) -> Response:
    only = SearchFilter(
        filename=filename or None, since=params.parse_instant(since, at="since") if since else None
    )
    question = build_request(owner, q, only, limit=10, cursor=cursor)
    found = SearchPage([], None)
    if question.words:
        found = await find_passages(site.pool, site.find(SearchModel).embed, question)
    hits = [
        {
            "hit": one.hit,
            "score": one.score,
            "parts": cut_at_marks(one.hit.text, one.hit.marked, SHOWN),
        }
        for one in found.hits
    ]
    more = (
        request.url.include_query_params(cursor=search.write_rank_cursor(found.next))
        if found.next
        else None
    )
    by_words = any(find_spans(one.hit.marked) for one in found.hits)
    return render.render_page(
        "search.html", by_words=by_words, q=q, filename=filename, since=since, hits=hits,
        asked=bool(question.words), further=bool(cursor), more=f"?{more.query}" if more else "",
    )  # fmt: skip


@router.get("/search/passages/{number}")
async def passage_page(
    site: CurrentSite,
    owner: CurrentOwner,
    number: int,
    q: Annotated[str, Query(max_length=MAX_QUESTION)] = "",
) -> Response:
    """One passage of the owner's; somebody else's is not found."""
    async with read_connection(site.pool) as conn:
        found = await queries.fetch_hits(conn, SearchQuery(owner.key, q), [number])
    if number not in found:
        raise DocmillError("NOT_FOUND")
    hit = found[number]
    return render.render_page(
        "passage.html", hit=hit, q=q, parts=cut_at_marks(hit.text, hit.marked)
    )


def cut_at_marks(text: str, marked: str, most: int | None = None) -> list[tuple[str, bool]]:
    """A text cut where its marks begin and end; which of the pieces are marked.

    Of a text longer than `most`, only the stretch with the most marks.
    """
    marks = [*find_spans(marked)]
    begin, end = _choose_stretch(text, marks, most) if most else (0, len(text))
    found: list[tuple[str, bool]] = [("… ", False)] if begin else []
    place = begin
    for first, last in marks:
        if begin <= first and last <= end:
            found += [(text[place:first], False), (text[first:last], True)]
            place = last
    found += [(text[place:end], False), (" …" if end < len(text) else "", False)]
    return [part for part in found if part[0]]


def _choose_stretch(text: str, marks: Sequence[tuple[int, int]], most: int) -> tuple[int, int]:
    if len(text) <= most:
        return 0, len(text)
    begins = [0, *(max(0, first - BEFORE) for first, _ in marks)]
    begin = max(begins, key=lambda at: sum(at <= a and b <= at + most for a, b in marks))
    begin = text.find(" ", begin) + 1 if begin else 0
    space = text.rfind(" ", begin, begin + most)
    return begin, space if begin + most < len(text) and space > begin else begin + most
