"""Stored files by signed address, for stores that have no addresses of their own."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from docmill.ingest.checks import kind_of
from docmill.web import problems
from docmill.web.deps import Here
from docmill.web.streams import attachment, opened

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
    headers = {
        "content-disposition": attachment(name or "document"),
        "cache-control": "private, no-store",
    }
    return StreamingResponse(body, headers=headers, media_type=kind_of(first))
