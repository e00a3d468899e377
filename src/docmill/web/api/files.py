"""Stored files by signed address, for stores that have no addresses of their own."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from docmill.core.pipeline import PDF
from docmill.ingest.checks import kind_of
from docmill.web import problems
from docmill.web.deps import Here
from docmill.web.streams import disposition, opened

router = APIRouter(tags=["results"])


@router.get(
    "/files/{key:path}",
    summary="A stored file, by an address that was signed for a while",
    response_class=Response,
    responses=problems.documented("LINK_EXPIRED", "EXPIRED", "IO_ERROR", "BAD_REQUEST")
    | {200: {"description": "The file", "content": {"application/pdf": {}}}},
)
async def signed_file(
    key: str,
    here: Here,
    until: Annotated[int, Query(ge=0, le=1 << 40, description="Seconds since 1970")],
    signature: Annotated[str, Query(max_length=64)],
    name: Annotated[str, Query(max_length=255)] = "",
) -> Response:
    """The address itself is the permission; nobody is asked who he is."""
    await here.links.check(key, until, name, signature)
    first, body = await opened(here.services.store, key)
    kind = kind_of(first)
    # A browser shows a PDF in a viewer of its own; anything else might be a page of ours to it.
    way = "inline" if kind == PDF else "attachment"
    headers = {
        "content-disposition": disposition(way, name or "document"),
        "cache-control": "private, no-store",
    }
    return StreamingResponse(body, headers=headers, media_type=kind)
