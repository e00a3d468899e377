"""Sources: the buckets that are watched, each with its pipeline, its desk and its pause.

The operator says which there are. A row tells all pollers and pages how each stands.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from psycopg.rows import class_row

from docmill.core.faults import CommandError
from docmill.core.owners import Owner, may_see
from docmill.db.pool import Connection


@dataclass(frozen=True, slots=True)
class BucketSource:
    """What an operator says of one; `address` is its bucket's, with options.

    `every` is how often it is looked at. `paused`: it begins so when it is seen for the first time.
    """

    name: str
    address: str
    pipeline: str
    desk: str
    every: timedelta | None = None
    paused: bool = False

    @property
    def place(self) -> str:
        """Its address for people."""
        return self.address.partition("?")[0].rstrip("/")


def check_sources(sources: Sequence[BucketSource]) -> list[BucketSource]:
    """The same, if no two of them have a name or a bucket in common."""
    names: set[str] = set()
    places: dict[str, str] = {}
    for source in sources:
        if source.name in names:
            raise CommandError(
                f"DOCMILL_SOURCES has a source named {source.name}, which is the name of "
                "DOCMILL_BUCKET.\nGive it another name, or set DOCMILL_BUCKET=none."
            )
        names.add(source.name)
        other = places.setdefault(source.place, source.name)
        if other != source.name:
            raise CommandError(
                f"The sources {other} and {source.name} watch the same bucket, {source.place}.\n"
                "An object belongs to one source: give each a bucket or a prefix of its own."
            )
    return list(sources)


@dataclass(frozen=True, slots=True)
class SourceRow:
    """How a source stands: who paused it, when a poller looked last, and what it said then."""

    name: str
    bucket: str
    pipeline: str
    owner: str
    paused_at: datetime | None
    paused_by: str | None
    looked_at: datetime | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class NewSource:
    """A source as a poller begins to watch it; `bucket` is the name of its store."""

    name: str
    bucket: str
    pipeline: str
    owner: str
    paused: bool = False


# A pause that the settings ask for is the first word, not the last: who resumes a source has it
# resumed, also after a restart. Objects of before sources had names become this one's.
REGISTER_SOURCE: Final = """
WITH mine AS (
    INSERT INTO sources AS s (name, bucket, pipeline, owner, paused_at, paused_by)
    VALUES (%(name)s, %(bucket)s, %(pipeline)s, %(owner)s,
            CASE WHEN %(paused)s THEN now() END, CASE WHEN %(paused)s THEN 'the settings' END)
    ON CONFLICT (name) DO UPDATE SET bucket = excluded.bucket, pipeline = excluded.pipeline,
           owner = excluded.owner
     WHERE (s.bucket, s.pipeline, s.owner)
           <> (excluded.bucket, excluded.pipeline, excluded.owner))
UPDATE bucket_objects SET source = %(name)s, owner = %(owner)s
 WHERE bucket = %(bucket)s AND owner IS NULL
"""


async def register_source(conn: Connection, source: NewSource) -> None:
    args = {
        "name": source.name,
        "bucket": source.bucket,
        "pipeline": source.pipeline,
        "owner": source.owner,
        "paused": source.paused,
    }
    await conn.execute(REGISTER_SOURCE, args)


IS_PAUSED: Final = "SELECT paused_at IS NOT NULL FROM sources WHERE name = %s"


async def is_paused(conn: Connection, name: str) -> bool:
    row = await (await conn.execute(IS_PAUSED, (name,))).fetchone()
    return bool(row and row[0])


NOTE_LOOK: Final = "UPDATE sources SET looked_at = now(), problem = %s WHERE name = %s"


async def note_look(conn: Connection, name: str, problem: str | None) -> None:
    """A poller was there; what kept it from its work, if something did."""
    await conn.execute(NOTE_LOOK, (problem, name))


LIST_SOURCES: Final = """
SELECT name, bucket, pipeline, owner, paused_at, paused_by, looked_at, problem
  FROM sources ORDER BY name
"""


async def list_rows(conn: Connection, asker: Owner) -> list[SourceRow]:
    """Those of the asker's desks; all of them for an administrator."""
    async with conn.cursor(row_factory=class_row(SourceRow)) as cur:
        rows = await (await cur.execute(LIST_SOURCES)).fetchall()
    return [row for row in rows if asker.admin or may_see(asker, row.owner)]


PAUSE: Final = """
UPDATE sources SET paused_at = coalesce(paused_at, now()), paused_by = coalesce(paused_by, %(by)s)
 WHERE name = %(name)s
"""
RESUME: Final = "UPDATE sources SET paused_at = NULL, paused_by = NULL WHERE name = %(name)s"


async def set_paused(conn: Connection, name: str, *, paused: bool, by: str) -> None:
    await conn.execute(PAUSE if paused else RESUME, {"name": name, "by": by})
