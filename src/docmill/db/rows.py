"""Rows that a pipeline wants written: each noun's module writes its own, in the settling
transaction. They come from a child that read strangers' bytes, as JSON only PostgreSQL parses."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from docmill.core.jobs import Claimed, JobId
from docmill.db import chunks, fields
from docmill.db.pool import Connection


@dataclass(frozen=True, slots=True)
class Noun:
    """`write` is given a JSON array, and takes away first what an earlier run of the job wrote."""

    write: Callable[[Connection, Claimed, str], Awaitable[None]]
    exist: Callable[[Connection, JobId], Awaitable[bool]]


NOUNS: Final[dict[str, Noun]] = {
    "chunks": Noun(chunks.write, chunks.exist),
    "fields": Noun(fields.write, fields.exist),
}


async def write(conn: Connection, job: Claimed, rows: Mapping[str, bytes]) -> None:
    """Only for a job whose settling was accepted; a noun nobody knows is refused before that."""
    for noun, array in rows.items():
        await NOUNS[noun].write(conn, job, array.decode(errors="replace"))


async def exist(conn: Connection, job_id: JobId) -> bool:
    for noun in NOUNS.values():
        if await noun.exist(conn, job_id):
            return True
    return False
