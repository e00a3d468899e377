"""A job's receipt: what its rows say, and the word of its room on who reviewed it, signed."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from docmill.core import installed, plugins
from docmill.core.faults import DocmillError
from docmill.core.jobs import Job, Status
from docmill.db import wall
from docmill.db.pool import Connection, read_connection
from docmill.jobs.results import explain_missing, has_approved_reading
from docmill.receipts import queries, statement
from docmill.receipts.queries import ResultRow
from docmill.web.params import format_instant
from docmill.web.site import Site

NAMED: Final = {"data": "reading", "document": "read_document"}  # as they were before a review
_VERSION: Final = re.compile(r"_v(\d+)$")


async def issue_receipt(site: Site, job: Job) -> bytes:
    """Raises NOT_READY and EXPIRED as a download does."""
    if job.status is not Status.COMPLETE and not has_approved_reading(job):
        raise explain_missing(job)
    async with read_connection(site.pool) as conn:
        rows = await queries.list_results(conn, job.id)
        review = await _find_review(conn, job)
    if not rows:
        raise DocmillError("EXPIRED", jobId=str(job.id))
    with wall.beyond():
        async with site.pool.connection() as conn:
            private = await queries.load_private(conn)
    return statement.sign(make_statement(job, rows, review), private)


async def _find_review(conn: Connection, job: Job) -> dict[str, Any] | None:
    for room in installed.find_rooms().of(job.pipeline):
        if room.reviewed:
            return await plugins.resolve(room.reviewed)(conn, job)
    return None


def make_statement(
    job: Job, rows: Sequence[ResultRow], review: dict[str, Any] | None
) -> dict[str, Any]:
    """The same rows give the same statement: a receipt asked for twice is the same file."""
    newest = max(row.revision for row in rows)
    current = [row for row in rows if row.revision == newest]
    before = [row for row in rows if newest and row.revision == 0]
    forms = {row.form: row for row in current} | {NAMED[row.form]: row for row in before}
    made = next((row for row in current if row.form == "document"), current[0])
    read = next((row for row in rows if row.form == "data" and row.revision == 0), rows[0])
    return {
        "type": statement.TYPE,
        "format": statement.FORMAT,
        "job": str(job.id),
        "source": {"sha256": job.sha256, "bytes": job.bytes, "content_type": job.content_type},
        "pipeline": {"name": job.pipeline, "version": read.version},
        "docmill": {"read": read.docmill, "written": made.docmill},
        "mapping": _describe_mapping(made.mapping) if made.form == "document" else None,
        "results": {name: _describe_result(row) for name, row in forms.items()},
        "revision": newest,
        "review": _write_times(review),
        "times": _write_times(
            {
                "received": job.created_at,
                "started": job.started_at,
                "completed": job.completed_at,
                "stored": made.created_at,
            }
        ),
    }


def _describe_mapping(name: str | None) -> dict[str, Any] | None:
    """A name stands for one text for good; its ending is its version."""
    if name is None:
        return None
    found = _VERSION.search(name)
    return {"name": name, "version": found[1] if found else None}


def _describe_result(row: ResultRow) -> dict[str, Any]:
    return {"sha256": row.sha256, "bytes": row.bytes, "content_type": row.content_type}


def _write_times(facts: dict[str, Any] | None) -> dict[str, Any] | None:
    if facts is None:
        return None
    return {
        name: format_instant(value) if isinstance(value, datetime) else value
        for name, value in facts.items()
    }
