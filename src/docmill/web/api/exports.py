"""Exports: several complete jobs as one file, such as a Coretax bulk import."""

from typing import ClassVar

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from docmill.web import bodies, exports, problems
from docmill.web.api.jobs import LOOKUP
from docmill.web.deps import Asker, Here

router = APIRouter(prefix="/api/exports", tags=["results"])


class Wish(BaseModel):
    """Which jobs, in the order in which they shall stand in the file."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", title="Export")

    jobs: list[str] = Field(min_length=1, description=f"Ids of complete jobs, up to {exports.MOST}")
    mapping: str | None = Field(None, description="Default: that of the jobs' pipeline")


@router.post(
    "",
    summary="Several complete invoices of one seller as one file",
    response_class=Response,
    openapi_extra=bodies.documented(Wish.model_json_schema()),
    responses=problems.documented(
        "BAD_REQUEST", "TOO_MANY_JOBS", "UNKNOWN_MAPPING", "CROSS_SITE", *LOOKUP,
        "NOT_READY", "NOT_INVOICE", "EXPIRED", "GW_4XX", "IO_ERROR",
    )
    | {200: {"description": "The file", "content": {"application/xml": {}}}},
)  # fmt: skip
async def export_jobs(request: Request, here: Here, owner: Asker) -> Response:
    """All or nothing, and nothing is stored. A job named twice is in the file once.

    `X-Review-Count` says how many values a person should look at.
    """
    wish = await bodies.read(request, Wish)
    async with here.exporting:
        made = await exports.export(here.services, owner, wish.jobs, wish.mapping)
    headers = {
        "content-disposition": f'attachment; filename="{made.mapping}-{made.count}.xml"',
        "cache-control": "private, no-store",
        "x-review-count": str(len(made.emitted.review)),
    }
    return Response(made.emitted.xml, media_type="application/xml", headers=headers)
