"""Fields: the labelled values that a pipeline found in a document."""

from typing import Final

from docmill.core.jobs import Claimed, JobId
from docmill.db.pool import Connection

CLEAR: Final = "DELETE FROM document_fields WHERE job_id = %s"
ADD: Final = """
INSERT INTO document_fields (job_id, document_id, owner, position, label, value, kind, amount,
                             currency, day, plain, confidence, page, box, asked)
SELECT %(job)s, %(document)s, %(owner)s, position, f.label, f.value, f.type,
       (f.normal->>'amount')::numeric, f.normal->>'currency', (f.normal->>'date')::date,
       f.normal->>'text', f.confidence, f.page, f.box, coalesce(f.asked, false)
  FROM ROWS FROM (jsonb_to_recordset(%(rows)s::jsonb) AS (
           label text, value text, type text, normal jsonb, confidence real, page int, box real[],
           asked boolean))
       WITH ORDINALITY AS f(label, value, type, normal, confidence, page, box, asked, position)
"""


async def write(conn: Connection, job: Claimed, rows: str) -> None:
    await conn.execute(CLEAR, (job.id,))
    given = {"job": job.id, "document": job.document_id, "owner": job.owner, "rows": rows}
    await conn.execute(ADD, given)


EXIST: Final = "SELECT EXISTS (SELECT FROM document_fields WHERE job_id = %s)"


async def exist(conn: Connection, job_id: JobId) -> bool:
    row = await (await conn.execute(EXIST, (job_id,))).fetchone()
    return row == (True,)
