"""A plain upload is written down in one statement: document, job, its place in the queue, events.

What its owner chose is not read before. It is believed to be as it was last (nothing, of an owner
who is new here); where it is not so, the statement writes nothing and tells what it is now.
"""

import json
from collections import OrderedDict
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from psycopg.types.json import Jsonb

from docmill.core.documents import NewDocument
from docmill.core.jobs import Job, Status
from docmill.core.owners import OwnerKey
from docmill.db.notify import WORK
from docmill.db.pool import Pool, lone_statement
from docmill.documents.assignments import OwnerChoices
from docmill.queue.enqueue import NewJob

MOST_BELIEVED: Final = 10_000


class BelievedChoices:
    """What owners chose when they were last here; of the others, that they chose nothing."""

    def __init__(self) -> None:
        self._known: OrderedDict[OwnerKey, OwnerChoices] = OrderedDict()

    def find(self, owner: OwnerKey) -> OwnerChoices:
        return self._known.get(owner, NOTHING)

    def note(self, owner: OwnerKey, choices: OwnerChoices) -> None:
        self._known.pop(owner, None)
        if choices == NOTHING:
            return
        self._known[owner] = choices
        if len(self._known) > MOST_BELIEVED:
            self._known.popitem(last=False)


def _dump(choices: OwnerChoices) -> str:
    return json.dumps(asdict(choices))


NOTHING: Final = OwnerChoices()
# Of most uploads, and so encoded once.
BELIEVED_NOTHING: Final = _dump(NOTHING)
EMPTY: Final = "{}"

ACCEPT: Final = """
SELECT chosen, has_twin, at, changed_at,
       CASE WHEN %(rings)s AND chosen IS NULL AND NOT has_twin THEN pg_notify(%(channel)s, '') END
  FROM docmill_accept(
    %(owners)s, %(desks)s, %(role)s, %(patience)s, %(believed)s, %(owner)s,
    %(document_id)s, %(sha256)s, %(bytes)s, %(content_type)s, %(filename)s, %(source)s,
    %(upload_key)s, %(meta)s, %(pages)s, %(scans)s, %(keep)s,
    %(id)s, %(pipeline)s, %(mapping)s, %(options)s, %(priority)s, %(dedupe_key)s)
"""


@dataclass(frozen=True, slots=True)
class NewUpload:
    """What is written, and what its owner is believed to have chosen."""

    document: NewDocument
    job: NewJob
    keep: timedelta | None
    believed: OwnerChoices


async def add_at_once(
    pool: Pool, upload: NewUpload, *, rings: bool = False
) -> Job | OwnerChoices | None:
    """The job; or what its owner chose, where it is not as believed; or None where it has a twin.

    After a `CommitUnknownError` it may have been written, or may be even later. `rings`: workers
    are notified by the same statement, where there is a job for them.
    """
    args = {**_describe(upload), "rings": rings, "channel": WORK}
    async with lone_statement(pool) as (conn, terms):
        row = await (await conn.execute(ACCEPT, {**args, **terms})).fetchone()
    assert row is not None
    chosen, has_twin, at, changed_at, _ = row
    if chosen is not None:
        return OwnerChoices(**chosen)
    return None if has_twin else _build_job(upload.document, upload.job, at, changed_at)


def _describe(upload: NewUpload) -> dict[str, Any]:
    """What the statement is given besides its terms."""
    document, job = upload.document, upload.job
    return {
        "believed": BELIEVED_NOTHING if upload.believed is NOTHING else _dump(upload.believed),
        "keep": upload.keep,
        "document_id": document.id,
        "sha256": document.sha256,
        "bytes": document.bytes,
        "content_type": document.content_type,
        "filename": document.original_filename,
        "source": document.source,
        "upload_key": document.upload_key,
        "meta": Jsonb(dict(document.meta)) if document.meta else EMPTY,
        "pages": document.guessed.pages,
        "scans": document.guessed.scans,
        "id": job.id,
        "owner": job.owner,
        "pipeline": job.pipeline,
        "mapping": job.mapping,
        "options": Jsonb(job.options) if job.options else EMPTY,
        "priority": job.priority,
        "dedupe_key": job.dedupe_key,
    }


# Of a job that nobody has begun.
UNSET: Final[dict[str, Any]] = dict.fromkeys(
    ("result_key", "error_code", "error_message", "started_at", "completed_at", "failed_at",
     "cancelled_at", "run_at", "leased_by", "lease_expires_at", "expires_at",
     "first_downloaded_at", "duplicate_of")
)  # fmt: skip


def _build_job(document: NewDocument, job: NewJob, at: datetime, changed_at: datetime) -> Job:
    """As `enqueue.find_job` would read it."""
    return Job(
        id=job.id,
        document_id=document.id,
        owner=job.owner,
        original_filename=document.original_filename,
        content_type=document.content_type,
        bytes=document.bytes,
        sha256=document.sha256,
        source=document.source,
        upload_key=document.upload_key,
        pipeline=job.pipeline,
        mapping=job.mapping,
        status=Status.QUEUED,
        priority=job.priority,
        progress=0,
        stage="",
        created_at=at,
        updated_at=changed_at,
        queued_at=at,
        claim=0,
        attempt_count=0,
        download_count=0,
        requested_pipeline=job.pipeline,
        pages=document.guessed.pages,
        scans=document.guessed.scans,
        **UNSET,
    )
