"""Links to results: anybody who has one may open it until its time is over, a CDN included."""

import hashlib
import time
from datetime import UTC, datetime, timedelta
from typing import Annotated, ClassVar, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from docmill.core.jobs import Job
from docmill.core.owners import Owner
from docmill.db import wall
from docmill.db.pool import read_connection
from docmill.documents.links import SignedLinks, find_base
from docmill.jobs import results
from docmill.jobs.downloads import FORMAT_HELP, PRIVATE, send_stored, send_written, write_download
from docmill.queue.enqueue import find_job_by_text, find_own_job
from docmill.web import json_body, problems
from docmill.web.params import Instant
from docmill.web.site import CurrentOwner, CurrentSite, Site

router = APIRouter(tags=["results"])

PATH: Final = "/links"
SHORTEST: Final = 60
DEFAULT: Final = 24 * 3600
LONGEST: Final = 7 * 24 * 3600
# It holds no cookie and knows nobody: any page may read it, and none can be acted for.
OPEN_TO_ALL: Final = {
    "access-control-allow-origin": "*",
    "cross-origin-resource-policy": "cross-origin",
    "content-security-policy": "default-src 'none'; sandbox",
}


class LinkRequest(BaseModel):
    """What the link shall open, and for how long."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    format: str | None = Field(None, max_length=64, description=FORMAT_HELP, examples=["json"])
    expires_in: json_body.WholeNumber = Field(
        DEFAULT, ge=SHORTEST, le=LONGEST, description="Seconds"
    )


class LinkAnswer(BaseModel):
    job_id: str
    url: str
    format: str | None = Field(description="Null: the result as it is downloaded by default")
    expires_at: Instant
    expires_in: int = Field(description="Seconds")


@router.post(
    "/api/jobs/{job_id}/links",
    status_code=201,
    summary="A link to the result that needs no sign-in until it expires",
    openapi_extra=json_body.describe_body(LinkRequest.model_json_schema()),
    responses=problems.fault_responses(
        *problems.LOOKUP_FAULTS, "BAD_REQUEST", "CROSS_SITE", "NOT_READY", "EXPIRED", "GW_4XX"
    ),
)
async def create_link(
    job_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> LinkAnswer:
    """Whoever has the link may open it, and a CDN may keep what it opens until it expires."""
    wish = await json_body.read_json(request, LinkRequest)
    async with read_connection(site.pool) as conn:
        job = await find_own_job(conn, owner, job_id)
    await _check_there(site, job, wish.format)
    name = wish.format or ""
    lifetime = timedelta(seconds=wish.expires_in)
    until, signature = await site.find(SignedLinks).sign(_describe(str(job.id), name), lifetime)
    asked = {"format": name, "until": until, "signature": signature}
    query = urlencode({key: value for key, value in asked.items() if value})
    return LinkAnswer(
        job_id=str(job.id),
        url=f"{find_base(request, site.config)}{PATH}/{job.id}?{query}",
        format=wish.format,
        expires_at=datetime.fromtimestamp(until, UTC),
        expires_in=wish.expires_in,
    )


def _describe(job_id: str, name: str) -> str:
    return f"result\n{job_id}\n{name}"


async def _check_there(site: Site, job: Job, name: str | None) -> None:
    """What can't be downloaded now gets no link."""
    if name:
        await write_download(site, job, name)
        return
    async with read_connection(site.pool) as conn:
        await results.require_result(conn, job, None)


class OpenedLink(BaseModel):
    """What an address says, as it was signed."""

    job_id: str
    format: str
    until: int
    signature: str


async def read_link(
    job_id: str,
    until: Annotated[int, Query(ge=0, le=1 << 40, description="Seconds since 1970")],
    signature: Annotated[str, Query(max_length=64)],
    form: Annotated[str, Query(alias="format", max_length=64)] = "",
) -> OpenedLink:
    return OpenedLink(job_id=job_id, format=form, until=until, signature=signature)


@router.get(
    f"{PATH}/{{job_id}}",
    summary="A result, by a link to it",
    response_class=Response,
    responses=problems.fault_responses(
        "LINK_EXPIRED", "BAD_REQUEST", "JOB_NOT_FOUND", "NOT_READY", "EXPIRED", "IO_ERROR",
        "DAMAGED", "DATABASE_DOWN", "BUSY",
    )
    | {200: {"description": "The result"}, 304: {"description": "As the ETag knows it"}},
)  # fmt: skip
async def open_link(
    request: Request, site: CurrentSite, link: Annotated[OpenedLink, Depends(read_link)]
) -> Response:
    """The address itself is the permission: nobody is asked who they are."""
    about = _describe(link.job_id, link.format)
    await site.find(SignedLinks).check(about, link.until, link.signature)
    with wall.beyond():
        async with read_connection(site.pool) as conn:
            job = await find_job_by_text(conn, link.job_id)
    wall.enclose(Owner(job.owner))
    known, headers = request.headers.get("if-none-match", ""), _cache_headers(site, link)
    if link.format:
        written = await write_download(site, job, link.format)
        headers["etag"] = f'"{hashlib.sha256(written.body).hexdigest()[:32]}"'
        if headers["etag"] in known:
            return Response(status_code=304, headers=headers)
        return await send_written(site, job, written, headers)
    async with read_connection(site.pool) as conn:
        result = await results.require_result(conn, job, None)
    headers["etag"] = f'"{result.sha256[:32]}"'
    if headers["etag"] in known:
        return Response(status_code=304, headers=headers)
    return await send_stored(site, job, result, headers)


def _cache_headers(site: Site, link: OpenedLink) -> dict[str, str]:
    """Caches may keep it as long as the link is good, unless it goes with its first download."""
    if site.config.delete_on_download:
        return {**OPEN_TO_ALL, **PRIVATE}
    left = max(0, int(link.until - time.time()))
    return {**OPEN_TO_ALL, "cache-control": f"public, max-age={left}"}
