"""A reading in any format, written on demand: which there are, whether each can be, and why not."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.installed import find_rooms
from docmill.core.jobs import Job
from docmill.core.plugins import Format, FormatState, resolve
from docmill.db.pool import read_connection
from docmill.jobs import results
from docmill.web.site import Site

JSON: Final = Format("json", "JSON", "application/json", ".json", "docmill.jobs.formats:write_json")
# A result this large is not looked at to say whether a format can be written; it is tried.
MOST_BYTES: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class OfferedFormat:
    """One that a job's reading can be downloaded in; not `ready`: `reason` says why.

    `draft`: it can be had all the same, without what is missing.
    """

    name: str
    label: str
    ready: bool
    reason: str | None = None
    draft: bool = False


def write_json(data: Any, _title: str) -> bytes:
    return json.dumps(data, ensure_ascii=False, indent=2).encode()


def find_formats(pipeline: str) -> dict[str, Format]:
    """By name: those of the pipeline's rooms, and the data itself."""
    own = {one.name: one for room in find_rooms().of(pipeline) for one in room.formats}
    return {**own, JSON.name: JSON}


async def list_formats(site: Site, job: Job) -> list[OfferedFormat]:
    """Those of a job whose reading is there, in the order of its room."""
    if job.result_key is None and job.reading_key is None:
        return []
    offered = find_formats(job.pipeline).values()
    data = await _load_small(site, job) if any(one.check for one in offered) else None
    return [await _check(site, job, one, data) for one in offered]


async def _load_small(site: Site, job: Job) -> Any:
    async with read_connection(site.pool) as conn:
        found = await results.find_result(conn, job.id, "data")
    if found is None or found.bytes > MOST_BYTES:
        return None
    try:
        return await results.read_data(site.pool, site.store, found.key)
    except DocmillError:
        return None  # who downloads it is told what is wrong


async def _check(site: Site, job: Job, form: Format, data: Any) -> OfferedFormat:
    checked = form.check and data
    state: FormatState = await resolve(form.check)(site, job, data) if checked else FormatState()
    ready = not state.reason
    return OfferedFormat(form.name, form.label, ready, state.reason or None, state.draft)


async def write_format(site: Site, job: Job, form: Format, *, draft: bool) -> bytes:
    """Of the reading, or of its approved revision. Raises GW_4XX where the format refuses it."""
    async with read_connection(site.pool) as conn:
        found = await results.require_reading(conn, job)
    async with site.exporting:
        data = await results.read_data(site.pool, site.store, found.key)
        if form.make:
            return await resolve(form.make)(site, job, data, draft=draft)
        title = PurePath(job.original_filename).stem or "docmill"
        return await asyncio.to_thread(resolve(form.write), data, title)
