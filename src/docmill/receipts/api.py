"""Receipts and the keys they are signed with."""

from typing import Any, Final

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from docmill.db import wall
from docmill.db.pool import read_connection
from docmill.queue.enqueue import find_own_job
from docmill.receipts import queries
from docmill.receipts.issue import issue_receipt
from docmill.receipts.statement import write_key
from docmill.web import problems
from docmill.web.params import format_instant
from docmill.web.site import CurrentOwner, CurrentSite, Site

router = APIRouter(tags=["receipts"])

JSON: Final = "application/json"
# Long enough to spare us, short enough that a new key is known within the hour.
KEYS_KEPT: Final = {"cache-control": "public, max-age=3600"}


class KeySet(BaseModel):
    """Public keys as a JWK set (RFC 7517, RFC 8037)."""

    keys: list[dict[str, Any]] = Field(
        description="The one that signs now first; those that signed before have `retired_at`"
    )


@router.get(
    "/api/jobs/{job_id}/receipt",
    summary="A signed statement about the result of a complete job",
    response_class=Response,
    responses=problems.fault_responses(*problems.LOOKUP_FAULTS, "NOT_READY", "EXPIRED")
    | {200: {"description": "The receipt; keep its bytes as they are", "content": {JSON: {}}}},
)
async def download_receipt(job_id: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    """Which file, read by what, reviewed by whom, gave which result: `docmill verify` checks it."""
    async with read_connection(site.pool) as conn:
        job = await find_own_job(conn, owner, job_id)
    headers = {
        "cache-control": "private, no-store",
        "content-disposition": f'attachment; filename="{job.id}.receipt.json"',
    }
    return Response(await issue_receipt(site, job), media_type=JSON, headers=headers)


@router.get(
    "/api/receipts/key",
    summary="The public keys of receipts, as a JWK set",
    responses=problems.fault_responses("DATABASE_DOWN", "BUSY"),
)
async def list_receipt_keys(site: CurrentSite, response: Response) -> KeySet:
    """Open to everybody: who was handed a receipt has no account here."""
    response.headers.update(KEYS_KEPT)
    return await _load_keys(site)


@router.get("/.well-known/docmill-receipts.json", include_in_schema=False)
async def list_well_known_keys(site: CurrentSite, response: Response) -> KeySet:
    response.headers.update(KEYS_KEPT)
    return await _load_keys(site)


async def _load_keys(site: Site) -> KeySet:
    with wall.beyond():
        async with site.pool.connection() as conn:
            await queries.load_private(conn)  # so that there is one, and it can be noted early
            found = await queries.list_keys(conn)
    return KeySet(
        keys=[
            write_key(
                one.public,
                created_at=format_instant(one.created_at),
                **({"retired_at": format_instant(one.retired_at)} if one.retired_at else {}),
            )
            for one in found
        ]
    )
