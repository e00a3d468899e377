"""Several complete jobs of one owner written as one file: looked up, read, emitted."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from docmill.core.faults import DocmillError
from docmill.core.installed import PipelineCatalog
from docmill.core.jobs import JobId, Status
from docmill.core.owners import Owner
from docmill.core.texts import clean_text
from docmill.db import wall
from docmill.db.pool import read_connection
from docmill.documents import queries
from docmill.invoices import formats
from docmill.invoices.formats import Emitted, choosing
from docmill.invoices.formats.language import InvoiceMapping
from docmill.invoices.profile import Profile, complete_profile
from docmill.jobs import results
from docmill.jobs.results import ReadableJob
from docmill.web import json_body, problems
from docmill.web.site import CurrentOwner, CurrentSite, Site

MOST_JOBS: Final = 1000
MOST_NAMED: Final = 20
# Most of a result, and nothing that is written.
UNUSED_KEYS: Final = frozenset({"evidence", "checks"})


@dataclass(frozen=True, slots=True)
class ExportedInvoice:
    """What a job read, and what its owner had told then."""

    job_id: JobId
    data: dict[str, Any]
    profile: Profile


@dataclass(frozen=True, slots=True)
class Export:
    mapping: str
    count: int
    emitted: Emitted


async def write_export(
    site: Site, owner: Owner, jobs: Sequence[str], mapping: str | None
) -> Export:
    """One file of these jobs, in the order given, or the fault of the first that can't be in it.

    Each is written with the profile it took along when it came, and where that says nothing, with
    today's.
    """
    job_ids = [_parse_id(text) for text in dict.fromkeys(jobs)]
    if len(job_ids) > MOST_JOBS:
        raise DocmillError("TOO_MANY_JOBS", maxJobs=MOST_JOBS)
    async with read_connection(site.pool) as conn:
        found = await results.find_data(conn, job_ids)
        for missing in (one for one in job_ids if one not in found):
            if await wall.is_known(conn, "jobs", missing):
                raise DocmillError("FORBIDDEN", jobId=str(missing))
        now = await queries.read_profile(conn, owner.key)
    rows = [_check_own(owner, found.get(job_id), job_id) for job_id in job_ids]
    name = _choose_mapping(site.catalog, rows, mapping)
    invoices = [await _load_invoice(site, row, now) for row in rows]
    name = _resolve_auto(invoices) if name == choosing.AUTO else name
    emitted = await asyncio.to_thread(_emit, formats.load(name), invoices)
    return Export(name, len(invoices), emitted)


def _resolve_auto(invoices: Sequence[ExportedInvoice]) -> str:
    """Several stand in one file of Coretax alone."""
    if len(invoices) > 1:
        return choosing.CORETAX
    return choosing.list_candidates(choosing.AUTO, invoices[0].data)[0]


def _parse_id(text: str) -> JobId:
    try:
        return JobId(UUID(text))
    except ValueError as exc:
        raise DocmillError("JOB_NOT_FOUND", jobId=clean_text(text)[:64]) from exc


def _check_own(owner: Owner, row: ReadableJob | None, job_id: JobId) -> ReadableJob:
    if row is None:
        raise DocmillError("JOB_NOT_FOUND", jobId=str(job_id))
    if row.owner != owner.key:
        raise DocmillError("FORBIDDEN", jobId=str(job_id))
    if row.status != Status.COMPLETE:
        raise DocmillError("NOT_READY", jobId=str(job_id), jobStatus=row.status)
    return row


def _choose_mapping(
    offer: PipelineCatalog, rows: Sequence[ReadableJob], mapping: str | None
) -> str:
    """The mapping asked for, or that of the first job's pipeline; every pipeline must know it."""
    known = {name for names in offer.mappings.values() for name in names}
    if mapping is not None and mapping not in known:
        raise DocmillError("UNKNOWN_MAPPING", mappings=sorted(known))
    name = mapping or offer.default_mapping(rows[0].pipeline)
    for row in rows:
        if name is None or name not in offer.mappings.get(row.pipeline, ()):
            raise DocmillError("NOT_INVOICE", jobId=str(row.id), pipeline=row.pipeline)
    assert name is not None
    return name


async def _load_invoice(site: Site, row: ReadableJob, now: Mapping[str, Any]) -> ExportedInvoice:
    if row.key is None:
        raise DocmillError("EXPIRED", jobId=str(row.id))
    found = await results.read_data(site.pool, site.store, row.key)
    data = {name: value for name, value in found.items() if name not in UNUSED_KEYS}
    return ExportedInvoice(row.id, data, complete_profile(data.get("profile"), now))


def _emit(mapping: InvoiceMapping, invoices: Sequence[ExportedInvoice]) -> Emitted:
    """The reason of a refusal is about the owner's own invoices, so the owner is told."""
    try:
        return formats.emit_all(
            mapping,
            [invoice.data for invoice in invoices],
            [invoice.profile for invoice in invoices],
            pretty=True,
        )
    except DocmillError as exc:
        culprits = [str(each.job_id) for each in invoices if _fails(mapping, each)]
        raise DocmillError(
            exc.fault.code, exc.detail, reason=exc.detail, jobs=culprits[:MOST_NAMED]
        ) from exc


def _fails(mapping: InvoiceMapping, invoice: ExportedInvoice) -> bool:
    try:
        formats.emit(mapping, invoice.data, invoice.profile)
    except DocmillError:
        return True
    return False


router = APIRouter(prefix="/api/exports", tags=["results"])


class ExportRequest(BaseModel):
    """Which jobs, in the order in which they shall stand in the file."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", title="Export")

    jobs: list[str] = Field(min_length=1, description=f"Ids of complete jobs, up to {MOST_JOBS}")
    mapping: str | None = Field(None, description="Default: that of the jobs' pipeline")


@router.post(
    "",
    summary="Several complete invoices of one seller as one file",
    response_class=Response,
    openapi_extra=json_body.describe_body(ExportRequest.model_json_schema()),
    responses=problems.fault_responses(
        "BAD_REQUEST", "TOO_MANY_JOBS", "UNKNOWN_MAPPING", "CROSS_SITE", *problems.LOOKUP_FAULTS,
        "NOT_READY", "NOT_INVOICE", "EXPIRED", "GW_4XX", "IO_ERROR", "DAMAGED",
    )
    | {200: {"description": "The file", "content": {"application/xml": {}}}},
)  # fmt: skip
async def export_jobs(request: Request, site: CurrentSite, owner: CurrentOwner) -> Response:
    """All or nothing, and nothing is stored. A job named twice is in the file once.

    `X-Review-Count` says how many values a person should look at.
    """
    wish = await json_body.read_json(request, ExportRequest)
    async with site.exporting:
        made = await write_export(site, owner, wish.jobs, wish.mapping)
    headers = {
        "content-disposition": f'attachment; filename="{made.mapping}-{made.count}.xml"',
        "cache-control": "private, no-store",
        "x-review-count": str(len(made.emitted.review)),
    }
    return Response(made.emitted.xml, media_type="application/xml", headers=headers)
