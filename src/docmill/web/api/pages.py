"""Pages of a job's document: as a picture, and as words with their places."""

from typing import Annotated, Final

from fastapi import APIRouter, Header, Path
from starlette.responses import Response

from docmill.db.pool import reading
from docmill.web import problems
from docmill.web.api.jobs import LOOKUP
from docmill.web.confined import Found
from docmill.web.deps import Asker, Here, own_job

router = APIRouter(prefix="/api/jobs/{job_id}/pages", tags=["reviews"])

FAULTS: Final = problems.documented(*LOOKUP, "EXPIRED", "NOT_FOUND", "BAD_PDF", "TIMED_OUT")
Number = Annotated[int, Path(ge=1, le=100_000, description="Counted from 1")]
Known = Annotated[str | None, Header(alias="if-none-match")]


@router.get(
    "/{number}.png",
    summary="A page as a picture",
    response_class=Response,
    responses=FAULTS
    | {200: {"description": "The picture", "content": {"image/png": {}}}, 304: {"description": ""}},
)
async def page_picture(
    job_id: str, number: Number, here: Here, owner: Asker, known: Known = None
) -> Response:
    """Drawn in a confined child, at 144 dpi or what keeps it within four million pixels."""
    found = await _page(job_id, number, here, owner)
    return _kept(found.picture or b"", "image/png", f'"{job_id[:8]}-{number}-1"', known)


@router.get(
    "/{number}.json",
    summary="A page's size in points, and its words with their boxes",
    response_class=Response,
    responses=FAULTS | {200: {"description": "The page", "content": {"application/json": {}}}},
)
async def page_words(
    job_id: str, number: Number, here: Here, owner: Asker, known: Known = None
) -> Response:
    """A word is `[text, x0, y0, x1, y1]`; a page that is a picture has none."""
    found = await _page(job_id, number, here, owner)
    return _kept(found.data, "application/json", f'"{job_id[:8]}-{number}-w1"', known)


async def _page(job_id: str, number: int, here: Here, owner: Asker) -> Found:
    async with reading(here.services.pool) as conn:
        job = await own_job(conn, owner, job_id)
    return await here.views.page(job, number)


def _kept(body: bytes, kind: str, etag: str, known: str | None) -> Response:
    """A document never changes, so browsers keep its pages; the owner is asked for each time."""
    headers = {"etag": etag, "cache-control": "private, max-age=600", "vary": "Cookie"}
    if known and etag in known:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=kind, headers=headers)
