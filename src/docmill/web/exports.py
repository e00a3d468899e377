"""Several complete jobs of one owner written as one file: looked up, read, emitted."""

import asyncio
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from docmill import mappings
from docmill.core.documents import clean_text
from docmill.core.faults import Faulted
from docmill.core.jobs import JobId, Status
from docmill.core.owners import Owner
from docmill.db import owners, results
from docmill.db.pool import reading
from docmill.db.results import Readable
from docmill.ingest.checks import Offer
from docmill.mappings import Emitted, InvoiceMapping, Profile, profile_of
from docmill.storage import Store
from docmill.wiring import Services

MOST: Final = 1000
SHOWN: Final = 20
# Most of a result, and nothing that is written.
UNUSED: Final = frozenset({"evidence", "checks"})


@dataclass(frozen=True, slots=True)
class Invoice:
    """What a job read, and what its owner had told then."""

    job_id: JobId
    data: dict[str, Any]
    profile: Profile


@dataclass(frozen=True, slots=True)
class Export:
    mapping: str
    count: int
    emitted: Emitted


async def export(
    services: Services, owner: Owner, jobs: Sequence[str], mapping: str | None
) -> Export:
    """One file of these jobs, in the order given, or the fault of the first that can't be in it.

    Each is written with the profile it took along when it came; one that took none, with today's.
    """
    job_ids = [_id(text) for text in dict.fromkeys(jobs)]
    if len(job_ids) > MOST:
        raise Faulted("TOO_MANY_JOBS", maxJobs=MOST)
    async with reading(services.pool) as conn:
        found = await results.data(conn, job_ids)
        now = profile_of(await owners.profile(conn, owner.key))
    rows = [_own(owner, found.get(job_id), job_id) for job_id in job_ids]
    name = _chosen(services.offer, rows, mapping)
    invoices = [await _invoice(services.store, row, now) for row in rows]
    emitted = await asyncio.to_thread(_emitted, mappings.load(name), invoices)
    return Export(name, len(invoices), emitted)


def _id(text: str) -> JobId:
    try:
        return JobId(UUID(text))
    except ValueError as exc:
        raise Faulted("JOB_NOT_FOUND", jobId=clean_text(text)[:64]) from exc


def _own(owner: Owner, row: Readable | None, job_id: JobId) -> Readable:
    if row is None:
        raise Faulted("JOB_NOT_FOUND", jobId=str(job_id))
    if row.owner != owner.key:
        raise Faulted("FORBIDDEN", jobId=str(job_id))
    if row.status != Status.COMPLETE:
        raise Faulted("NOT_READY", jobId=str(job_id), jobStatus=row.status)
    return row


def _chosen(offer: Offer, rows: Sequence[Readable], mapping: str | None) -> str:
    """The mapping asked for, or that of the first job's pipeline; every pipeline must know it."""
    known = {name for names in offer.mappings.values() for name in names}
    if mapping is not None and mapping not in known:
        raise Faulted("UNKNOWN_MAPPING", mappings=sorted(known))
    name = mapping or offer.default_mapping(rows[0].pipeline)
    for row in rows:
        if name is None or name not in offer.mappings.get(row.pipeline, ()):
            raise Faulted("NOT_INVOICE", jobId=str(row.id), pipeline=row.pipeline)
    assert name is not None
    return name


async def _invoice(store: Store, row: Readable, now: Profile) -> Invoice:
    if row.key is None:
        raise Faulted("EXPIRED", jobId=str(row.id))
    packed = b"".join([chunk async for chunk in store.chunks(row.key)])
    data = await asyncio.to_thread(_data, packed)
    told = data.get("profile")
    return Invoice(row.id, data, profile_of(told) if told else now)


def _data(packed: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(packed))
    return {name: value for name, value in found.items() if name not in UNUSED}


def _emitted(mapping: InvoiceMapping, invoices: Sequence[Invoice]) -> Emitted:
    """The reason of a refusal is about the owner's own invoices, so the owner is told."""
    try:
        return mappings.emit_all(
            mapping,
            [invoice.data for invoice in invoices],
            [invoice.profile for invoice in invoices],
            pretty=True,
        )
    except Faulted as exc:
        culprits = [str(each.job_id) for each in invoices if _fails(mapping, each)]
        raise Faulted(exc.fault.code, exc.detail, reason=exc.detail, jobs=culprits[:SHOWN]) from exc


def _fails(mapping: InvoiceMapping, invoice: Invoice) -> bool:
    try:
        mappings.emit(mapping, invoice.data, invoice.profile)
    except Faulted:
        return True
    return False
