"""The bucket page: how the watched bucket adds up against the database, and a count at once."""

from typing import Final
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from docmill.db.pool import read_connection
from docmill.documents import buckets
from docmill.documents.buckets import STATES
from docmill.documents.watched import WatchedBuckets, list_objects, sum_counts
from docmill.web import params, render
from docmill.web.site import CurrentOwner, CurrentSite

router = APIRouter(include_in_schema=False)

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
    lines, last = await list_objects(
        site.pool, owner, state=state or None, cursor=cursor, limit=ROWS_SHOWN
    )
    return render.render_page(
        "bucket.html",
        counts=counts,
        total=sum_counts(counts),
        watched=watched,
        others=[one for one in site.find(WatchedBuckets).seen_by(owner) if one is not watched],
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
