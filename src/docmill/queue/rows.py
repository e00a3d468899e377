"""Rows that a pipeline wants written, each kind by its room, in the settling transaction.

They come from a child that read strangers' bytes, as JSON that only PostgreSQL parses.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from docmill.core import installed, plugins
from docmill.core.jobs import Claimed, JobId
from docmill.db.pool import Connection

FIND_OWNER: Final = "SELECT owner FROM jobs WHERE id = %s"


async def write_rows(conn: Connection, job: Claimed, rows: Mapping[str, bytes]) -> None:
    """Only for a job whose settling was accepted; rows no table takes are refused before that.

    They are whose the job is now: a user may have taken it over since it was claimed.
    """
    tables = installed.find_rooms().tables
    row = await (await conn.execute(FIND_OWNER, (job.id,))).fetchone()
    job = replace(job, owner=row[0]) if row else job
    for name, array in rows.items():
        await plugins.resolve(tables[name].write)(conn, job, array.decode(errors="replace"))


async def rows_exist(conn: Connection, job_id: JobId) -> bool:
    for table in installed.find_rooms().tables.values():
        if table.exist and await plugins.resolve(table.exist)(conn, job_id):
            return True
    return False
