"""Answers of outside services, kept while their job is under way so that none is paid for twice."""

from typing import Final

from docmill.core.jobs import JobId
from docmill.db.pool import Connection

OF_JOB: Final = "SELECT answer FROM answers WHERE job_id = %s AND question = %s"


async def of_job(conn: Connection, job_id: JobId, question: bytes) -> bytes | None:
    """`question` is the SHA-256 of the service and what it was asked."""
    row = await (await conn.execute(OF_JOB, (job_id, question))).fetchone()
    return row[0] if row else None


KEEP: Final = """
INSERT INTO answers (job_id, question, answer) VALUES (%s, %s, %s)
    ON CONFLICT (job_id, question) DO UPDATE SET answer = excluded.answer, kept_at = now()
"""


async def keep(conn: Connection, job_id: JobId, question: bytes, answer: bytes) -> None:
    await conn.execute(KEEP, (job_id, question, answer))


FORGET: Final = """
DELETE FROM answers USING jobs
 WHERE jobs.id = answers.job_id AND jobs.status IN ('complete', 'failed', 'cancelled')
"""


async def forget(conn: Connection) -> int:
    """Those of jobs that ended in another way than by settling."""
    return (await conn.execute(FORGET)).rowcount
