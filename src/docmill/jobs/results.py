"""Results of complete jobs: found, read, written, and when they go.

Everybody who reads or writes a result does it here.
"""

import asyncio
import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final

from psycopg.rows import class_row

from docmill import __version__
from docmill.core import failpoints
from docmill.core.actions import list_actions
from docmill.core.faults import FAULTS, DocmillError
from docmill.core.jobs import Job, JobId, Status, StoredResult
from docmill.core.plugins import Artifact
from docmill.core.retention import DueWhen, SweptCount
from docmill.core.summaries import APPROVED, STATE
from docmill.db.pool import Connection, Pool
from docmill.documents.stored import open_stored
from docmill.storage.contract import Store

# Without a form: what people download, which is the document where there is one.
OF_JOB: Final = """
SELECT r.key, r.content_type, r.bytes, r.stored_bytes, r.sha256, r.version
  FROM jobs j JOIN results r ON r.job_id = j.id
 WHERE j.id = %(id)s AND coalesce(j.result_key, j.reading_key) IS NOT NULL AND r.claim = j.claim
   AND (r.revision = 0 OR NOT %(original)s) AND (%(form)s::text IS NULL OR r.form = %(form)s)
 ORDER BY r.revision DESC, r.form = 'document' DESC LIMIT 1
"""


async def find_result(
    conn: Connection, job_id: JobId, form: str | None = None, *, original: bool = False
) -> StoredResult | None:
    """As last approved by a person, or as it was read: `original`, and all that nobody reviewed."""
    args = {"id": job_id, "form": form, "original": original}
    async with conn.cursor(row_factory=class_row(StoredResult)) as cur:
        return await (await cur.execute(OF_JOB, args)).fetchone()


async def require_result(
    conn: Connection, job: Job, form: str | None = None, *, original: bool = False
) -> StoredResult:
    """The same; NOT_READY before the job is complete, EXPIRED when its result is gone.

    What a person approved is a result although the format refused what was read.
    """
    if job.status is not Status.COMPLETE and not has_approved_reading(job):
        raise explain_missing(job)
    found = await find_result(conn, job.id, form, original=original)
    if found is None:
        raise DocmillError("EXPIRED", jobId=str(job.id))
    return found


async def require_reading(conn: Connection, job: Job, *, original: bool = False) -> StoredResult:
    """What was read, whatever became of the job."""
    if job.reading_key is None:
        return await require_result(conn, job, "data", original=original)
    found = await find_result(conn, job.id, "data", original=original)
    if found is None:
        raise DocmillError("EXPIRED", jobId=str(job.id))
    return found


def has_approved_reading(job: Job) -> bool:
    """Whether a chosen format refused what was read, and a person approved the reading since.

    The job has failed and stays so: it leads from there to complete only through the queue.
    """
    state = (job.summary or {}).get(STATE)
    return job.status is Status.FAILED and job.reading_key is not None and state == APPROVED


def explain_missing(job: Job) -> DocmillError:
    """Why a job has no result: it is under way, or it ended without one."""
    facts: dict[str, object] = {"jobId": str(job.id), "jobStatus": str(job.status)}
    if job.status is Status.FAILED:
        why = job.reason or f"{job.error_message}."
        actions = [asdict(one) for one in list_actions(job)]
        exc = DocmillError(
            "NOT_READY", jobCode=job.error_code, reason=why, actions=actions, **facts
        )
        exc.fault = replace(exc.fault, says="The job failed, so it has no result", advice=why)
        return exc
    exc = DocmillError("NOT_READY", **facts)
    if job.status is Status.CANCELLED:
        exc.fault = replace(exc.fault, says=FAULTS["CANCELLED"].says, advice="Upload it again.")
    return exc


SUMMARY: Final = "SELECT summary FROM jobs WHERE id = %s"


async def read_summary(conn: Connection, job_id: JobId) -> Any:
    row = await (await conn.execute(SUMMARY, (job_id,))).fetchone()
    return row and row[0]


async def read_result(pool: Pool, store: Store, key: str) -> bytes:
    """The whole of it, held against its row."""
    return await (await open_stored(pool, store, key)).whole()


async def read_data(pool: Pool, store: Store, key: str) -> Any:
    """The JSON that a run found."""
    return await asyncio.to_thread(json.loads, await read_result(pool, store, key))


async def write_result(
    store: Store, key: str, made: Artifact, version: str, *, mapping: str | None = None
) -> StoredResult:
    """Store a result compressed, and see that it is there. Its row is the caller's to write.

    `mapping` is the one that wrote it, if one did.
    """
    packed = await asyncio.to_thread(gzip.compress, made.content, 6, mtime=0)
    await store.put(key, packed)
    failpoints.hit("result.stored")
    stored = await store.head(key)
    if stored is None or stored.bytes != len(packed):
        raise DocmillError("IO_ERROR", "the stored result is not what was written")
    sha256 = hashlib.sha256(made.content).hexdigest()
    return StoredResult(
        key,
        made.content_type,
        len(made.content),
        len(packed),
        sha256,
        version,
        __version__,
        mapping,
    )


@dataclass(frozen=True, slots=True)
class ReadableJob:
    """A job and where its data is stored; no key while there is none, or none any more."""

    id: JobId
    owner: str
    pipeline: str
    status: str
    key: str | None


DATA: Final = """
SELECT DISTINCT ON (j.id) j.id, j.owner, j.pipeline, j.status, r.key
  FROM jobs j
  LEFT JOIN results r ON r.job_id = j.id AND r.form = 'data' AND r.claim = j.claim
                     AND j.result_key IS NOT NULL
 WHERE j.id = ANY(%s)
 ORDER BY j.id, r.revision DESC
"""


async def find_data(conn: Connection, job_ids: Sequence[JobId]) -> dict[JobId, ReadableJob]:
    """Those of the jobs that there are."""
    async with conn.cursor(row_factory=class_row(ReadableJob)) as cur:
        found = await (await cur.execute(DATA, (list(job_ids),))).fetchall()
    return {each.id: each for each in found}


KEYS: Final = "SELECT key FROM results WHERE job_id = %s"


async def list_result_keys(conn: Connection, job_id: JobId) -> list[str]:
    """Everything that is stored of a job's results."""
    return [row[0] for row in await (await conn.execute(KEYS, (job_id,))).fetchall()]


MARK: Final = "UPDATE jobs SET expires_at = now() WHERE id = %s AND result_key IS NOT NULL"


async def mark_expiring(conn: Connection, job_id: JobId) -> None:
    """From now on retention may take the result."""
    await conn.execute(MARK, (job_id,))


UNMARK: Final = "UPDATE jobs SET expires_at = %(at)s WHERE id = %(id)s AND result_key IS NOT NULL"


async def restore_expiry(conn: Connection, job_id: JobId, *, expires_at: datetime | None) -> None:
    """It stays as long as it was to stay before."""
    await conn.execute(UNMARK, {"id": job_id, "at": expires_at})


# The rows learn that their bytes are gone, and what is to be deleted is noted, all at once.
EXPIRE: Final = """
WITH picked AS MATERIALIZED (
    SELECT id FROM jobs
     WHERE id = ANY(%(ids)s) AND coalesce(result_key, reading_key) IS NOT NULL
       AND (%(anyway)s OR expires_at < now()
            OR (%(pressed)s AND expires_at IS NOT NULL
                AND coalesce(completed_at, failed_at) < now() - %(short)s))),
gone AS (
    UPDATE jobs SET result_key = NULL, reading_key = NULL, dedupe_key = NULL FROM picked
     WHERE jobs.id = picked.id RETURNING jobs.id),
dropped AS (DELETE FROM results USING gone WHERE job_id = gone.id RETURNING key, stored_bytes),
noted AS (INSERT INTO removals (key) SELECT key FROM dropped ON CONFLICT DO NOTHING),
unlisted AS (DELETE FROM document_fields USING gone WHERE job_id = gone.id),
unfound AS (DELETE FROM chunks USING gone WHERE job_id = gone.id),
told AS (
    INSERT INTO job_events (job_id, kind, meta)
    SELECT id, 'expired', '{"what": "result"}' FROM gone)
SELECT (SELECT count(*) FROM gone), coalesce(sum(stored_bytes), 0)::bigint FROM dropped
"""


async def expire_results(
    conn: Connection, job_ids: Sequence[JobId], due: DueWhen | None = None
) -> SweptCount:
    """Clear the location of results that are due, or (without `due`) of these, whatever their age.

    Their bytes are the caller's to delete, or the next sweep's.
    """
    wanted = due or DueWhen()
    args = {
        "ids": list(job_ids),
        "anyway": due is None,
        "pressed": wanted.pressed,
        "short": wanted.short,
    }
    row = await (await conn.execute(EXPIRE, args)).fetchone()
    return SweptCount(*row) if row else SweptCount()
