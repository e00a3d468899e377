"""Raw SQL on jobs, for tests of what the database itself refuses."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID, uuid4

import psycopg

from docmill.core.jobs import Status

Row = psycopg.Connection

Columns = Mapping[str, str]

OWNER: Final = "session:ann"

# What a row must wear in each status, and nothing else of what any other status wears.
NAKED: Final[Columns] = {
    "run_at": "NULL",
    "leased_by": "NULL",
    "lease_expires_at": "NULL",
    "result_key": "NULL",
    "error_code": "NULL",
    "error_message": "NULL",
    "completed_at": "NULL",
    "failed_at": "NULL",
    "cancelled_at": "NULL",
}
WEARS: Final[dict[Status, Columns]] = {
    Status.UPLOADED: {},
    Status.QUEUED: {"queued_at": "now()"},
    Status.PROCESSING: {
        "queued_at": "coalesce(queued_at, now())",
        "started_at": "now()",
        "leased_by": "'w1'",
        "lease_expires_at": "now() + interval '5 minutes'",
        "claim": "claim + 1",
        "attempt_count": "attempt_count + 1",
    },
    Status.COMPLETE: {
        "queued_at": "coalesce(queued_at, now())",
        "started_at": "coalesce(started_at, now())",
        "completed_at": "now()",
        "result_key": "'results/' || id",
        "progress": "100",
    },
    Status.FAILED: {
        "queued_at": "coalesce(queued_at, now())",
        "failed_at": "now()",
        "error_code": "'UNKNOWN'",
        "error_message": "'Something went wrong'",
    },
    Status.CANCELLED: {"cancelled_at": "now()"},
}
WAYS: Final[dict[Status, tuple[Status, ...]]] = {
    Status.UPLOADED: (),
    Status.QUEUED: (Status.QUEUED,),
    Status.PROCESSING: (Status.QUEUED, Status.PROCESSING),
    Status.COMPLETE: (Status.QUEUED, Status.PROCESSING, Status.COMPLETE),
    Status.FAILED: (Status.QUEUED, Status.PROCESSING, Status.FAILED),
    Status.CANCELLED: (Status.CANCELLED,),
}

ADD_DOCUMENT: Final = """
INSERT INTO documents (id, owner, sha256, bytes, content_type, original_filename, source,
                       upload_key)
VALUES (%s, %s, repeat('0', 64), 1, 'application/pdf', 'a.pdf', 'upload', gen_random_uuid())
"""
ADD_JOB: Final = (
    "INSERT INTO jobs (id, document_id, owner, pipeline) VALUES (%s, %s, %s, 'extract')"
)


def introduce(db: Row, owner: str = OWNER) -> None:
    db.execute("INSERT INTO owners (owner) VALUES (%s) ON CONFLICT DO NOTHING", (owner,))


def a_document(db: Row) -> UUID:
    introduce(db)
    document_id = uuid4()
    db.execute(ADD_DOCUMENT, (document_id, OWNER))
    return document_id


def a_job(db: Row, status: Status = Status.UPLOADED) -> UUID:
    """A job that came to this status the right way."""
    job_id = uuid4()
    db.execute(ADD_JOB, (job_id, a_document(db), OWNER))
    for step in WAYS[status]:
        move(db, job_id, step)
    return job_id


def change(db: Row, job_id: UUID, columns: Columns) -> None:
    sets = ", ".join(f"{name} = {value}" for name, value in columns.items())
    db.execute(f"UPDATE jobs SET {sets} WHERE id = %s".encode(), (job_id,))


def move(db: Row, job_id: UUID, to: Status, *, without: str = "", **more: str) -> None:
    columns = {**NAKED, **WEARS[to], **more, "status": f"'{to}'"}
    change(db, job_id, {name: value for name, value in columns.items() if name != without})


def status_of(db: Row, job_id: UUID) -> str:
    return str(value(db, job_id, b"status"))


def value(db: Row, job_id: UUID, column: bytes) -> object:
    row = db.execute(b"SELECT " + column + b" FROM jobs WHERE id = %s", (job_id,)).fetchone()
    assert row is not None
    return row[0]
