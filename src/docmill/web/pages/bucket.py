"""The bucket page: how the watched bucket adds up against the database, and a count at once."""

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from docmill.db import bucket_counts
from docmill.db.pool import reading
from docmill.web.deps import Asker, Here
from docmill.web.pages import render
from docmill.web.watched import total

router = APIRouter(include_in_schema=False)


@router.get("/bucket")
async def bucket_page(here: Here, owner: Asker) -> Response:
    here.watched.check(owner)
    async with reading(here.services.pool) as conn:
        counts = await bucket_counts.last(conn)
    return render.page("bucket.html", counts=counts, total=total(counts), watched=here.watched)


@router.post("/bucket/count")
async def count(here: Here, owner: Asker) -> Response:
    """Back to the page, which tells the new count or that it is under way."""
    here.watched.check(owner)
    await here.watched.count_now()
    return RedirectResponse("/bucket", status_code=303)
