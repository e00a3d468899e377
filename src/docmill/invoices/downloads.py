"""Invoices as files, written on demand from what was read or approved."""

import asyncio
import csv
import io
from collections.abc import Mapping
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.jobs import Job
from docmill.core.owners import OwnerKey
from docmill.core.plugins import FormatState
from docmill.db.pool import read_connection
from docmill.documents import queries as documents_queries
from docmill.documents.previews import SharedRuns
from docmill.invoices import fields
from docmill.invoices.fields import FIELDS, LINE_FIELDS, lines_of, value_at
from docmill.invoices.formats import choosing
from docmill.invoices.formats.completeness import write_checked
from docmill.invoices.formats.coretax import RUPIAH
from docmill.invoices.profile import Profile, complete_profile
from docmill.web.site import Site

HYBRID: Final = "invoice-hybrid"
HEAD: Final = tuple(field.path for field in FIELDS if field.read)
LINE: Final = tuple(field.name for field in LINE_FIELDS if field.read)
# A spreadsheet would take text that begins so for a formula.
FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")


async def make_coretax(site: Site, job: Job, data: dict[str, Any], *, draft: bool) -> bytes:
    return await _make(site, job, data, choosing.CORETAX, draft=draft)


async def make_ubl(site: Site, job: Job, data: dict[str, Any], *, draft: bool) -> bytes:
    return await _make(site, job, data, choosing.UBL, draft=draft)


async def make_cii(site: Site, job: Job, data: dict[str, Any], *, draft: bool) -> bytes:
    return await _make(site, job, data, choosing.CII, draft=draft)


async def check_coretax(site: Site, job: Job, data: dict[str, Any]) -> FormatState:
    return await _check(site, job, data, choosing.CORETAX)


async def check_ubl(site: Site, job: Job, data: dict[str, Any]) -> FormatState:
    return await _check(site, job, data, choosing.UBL)


async def check_cii(site: Site, job: Job, data: dict[str, Any]) -> FormatState:
    return await _check(site, job, data, choosing.CII)


async def make_facturx(site: Site, job: Job, data: dict[str, Any], *, draft: bool) -> bytes:
    """The original is opened in a confined process alone."""
    xml = await _make(site, job, data, choosing.CII, draft=draft)
    options = {"xml": xml.decode()}
    ran = await site.find(SharedRuns).run(site, job, job.owner, HYBRID, options)
    if ran.artifact is None:
        raise DocmillError("UNKNOWN", "the writer gave no file")
    return ran.artifact.content


async def check_facturx(site: Site, job: Job, data: dict[str, Any]) -> FormatState:
    if job.upload_key is None:
        return FormatState("The original was removed by retention. Download the XML alone.")
    return await check_cii(site, job, data)


async def _make(site: Site, job: Job, data: dict[str, Any], mapping: str, *, draft: bool) -> bytes:
    profile = await read_profile(site, job.owner, data)
    written = await asyncio.to_thread(write_checked, mapping, data, profile)
    if written.missing and not draft:
        raise DocmillError("GW_4XX", "values are missing", reason=written.missing)
    return written.emitted.xml


async def _check(site: Site, job: Job, data: dict[str, Any], mapping: str) -> FormatState:
    profile = await read_profile(site, job.owner, data)
    try:
        written = await asyncio.to_thread(write_checked, mapping, data, profile)
    except DocmillError as exc:
        return FormatState(choosing.explain_refusal(exc))
    return FormatState(written.missing, draft=bool(written.missing))


async def read_profile(site: Site, owner: OwnerKey, data: Mapping[str, Any]) -> Profile:
    """As it was when the document came; what that left open, as the settings are today."""
    async with read_connection(site.pool) as conn:
        now = await documents_queries.read_profile(conn, owner)
    return complete_profile(data.get("profile"), now or {})


def is_ubl_another(job: Job) -> bool:
    return job.mapping != choosing.UBL


def needs_rate(job: Job) -> bool:
    """The invoice is in another currency than the tax office's."""
    currency = (job.summary or {}).get("currency")
    return job.mapping == choosing.CORETAX and bool(currency) and currency not in RUPIAH


def write_csv(data: Mapping[str, Any], _title: str) -> bytes:
    """A row for each line, with the head of the invoice before it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([*HEAD, *(f"line.{name}" for name in LINE)])
    head = [_cell(value_at(data, path), path) for path in HEAD]
    for index, _ in enumerate(lines_of(data) or [None]):
        paths = [f"lines[{index}].{name}" for name in LINE]
        writer.writerow([*head, *(_cell(value_at(data, path), path) for path in paths)])
    return out.getvalue().encode("utf-8-sig")


def _cell(value: Any, path: str) -> str:
    text = "" if value is None else str(value)
    field = fields.find_field(path)
    is_number = field is not None and field.is_number
    return f"'{text}" if text.startswith(FORMULAS) and not is_number else text
