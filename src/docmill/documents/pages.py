"""The bucket page: how the watched bucket adds up against the database, and a count at once."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from docmill.db.pool import read_connection
from docmill.documents import buckets
from docmill.documents.buckets import STATES
from docmill.documents.watched import WatchedBucket, list_objects, sum_counts
from docmill.web import params, render
from docmill.web.site import CurrentOwner, CurrentSite

router = APIRouter(include_in_schema=False)

ROWS_SHOWN: Final = 50


@router.get("/bucket")
async def bucket_page(
    site: CurrentSite, owner: CurrentOwner, state: str = "", cursor: str = ""
) -> Response:
    site.find(WatchedBucket).check(owner)
    if state and state not in STATES:
        raise params.bad_param("state", f"one of {', '.join(STATES)}")
    async with read_connection(site.pool) as conn:
        counts = await buckets.last_counts(conn)
    lines, last = await list_objects(site.pool, state or None, cursor=cursor, limit=ROWS_SHOWN)
    return render.render_page(
        "bucket.html",
        counts=counts,
        total=sum_counts(counts),
        watched=site.find(WatchedBucket),
        objects=lines,
        state=state,
        states=STATES,
        next_cursor=last,
    )


@router.post("/bucket/count")
async def count_bucket(site: CurrentSite, owner: CurrentOwner) -> Response:
    """Back to the page, which tells the new count or that it is under way."""
    site.find(WatchedBucket).check(owner)
    await site.find(WatchedBucket).count_now()
    return RedirectResponse("/bucket", status_code=303)
