"""Chunks: passages of documents, their words, and their vectors where PostgreSQL has pgvector."""

from typing import Final

from docmill.core.jobs import Claimed, JobId
from docmill.db.pool import Connection

CLEAR: Final = "DELETE FROM chunks WHERE job_id = %s"
ADD: Final = """
INSERT INTO chunks (job_id, document_id, owner, position, page, box, heading, text)
SELECT %(job)s, %(document)s, %(owner)s, position, c.page, c.box, c.heading, c.text
  FROM ROWS FROM (jsonb_to_recordset(%(rows)s::jsonb) AS (
           page int, box real[], heading text, text text))
       WITH ORDINALITY AS c(page, box, heading, text, position)
"""
ADD_VECTORS: Final = """
INSERT INTO chunk_vectors (chunk_id, document_id, owner, model, embedding)
SELECT chunks.id, chunks.document_id, chunks.owner, v.model, v.embedding::halfvec(384)
  FROM ROWS FROM (jsonb_to_recordset(%(rows)s::jsonb) AS (model text, embedding text))
       WITH ORDINALITY AS v(model, embedding, position)
  JOIN chunks ON chunks.job_id = %(job)s AND chunks.position = v.position
 WHERE v.embedding IS NOT NULL
"""


async def write(conn: Connection, job: Claimed, rows: str) -> None:
    await conn.execute(CLEAR, (job.id,))
    given = {"job": job.id, "document": job.document_id, "owner": job.owner, "rows": rows}
    await conn.execute(ADD, given)
    if await have_vectors(conn):
        await conn.execute(ADD_VECTORS, given)


HAVE_VECTORS: Final = "SELECT to_regclass('chunk_vectors') IS NOT NULL"


async def have_vectors(conn: Connection) -> bool:
    row = await (await conn.execute(HAVE_VECTORS)).fetchone()
    return row == (True,)


EXIST: Final = "SELECT EXISTS (SELECT FROM chunks WHERE job_id = %s)"


async def exist(conn: Connection, job_id: JobId) -> bool:
    row = await (await conn.execute(EXIST, (job_id,))).fetchone()
    return row == (True,)
