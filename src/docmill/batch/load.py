"""Parts of a batch as documents, jobs, results and rows of a docmill, each once.

A document goes the road of every job, from uploaded to complete, in one transaction: the rules of
the database hold, and nobody sees it half. Its bytes stay where they are.
"""

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID, uuid5

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from docmill.batch import parts, schema
from docmill.batch.arrow import Table
from docmill.batch.engines import Watch
from docmill.core.documents import clean_filename, result_key
from docmill.core.faults import CommandError
from docmill.core.jobs import (
    About,
    Claimed,
    DocumentId,
    Finished,
    JobId,
    Retry,
    StoredResult,
    Usage,
    settle,
)
from docmill.core.owners import STANDARD, OwnerKey
from docmill.core.plugins import Artifact
from docmill.db.pool import Connection, Pool
from docmill.jobs import results
from docmill.queue import claim, enqueue, rows
from docmill.queue.settle import Settlement, write_settlements
from docmill.storage.contract import ObjectInfo, Store
from docmill.storage.names import display_name

JSON: Final = "application/json"
WORKER: Final = "batch"
LEASE: Final = timedelta(minutes=5)
NO_RETRY: Final = Retry(1, timedelta(), timedelta())
# Documents in one transaction, which holds the owner's lock.
AT_A_TIME: Final = 50

PartRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LoadTarget:
    """Where parts are loaded to, and for whom. `keep` is how long results stay."""

    pool: Pool
    store: Store
    owner: OwnerKey
    mapping: str | None
    keep: timedelta


async def load_parts(out: Store, target: LoadTarget, watch: Watch) -> int:
    """How many documents are new. What failed is not loaded: it is in the dead letters."""
    loaded = 0
    async for part in _list_parts(out):
        name = part.key.removeprefix(f"{parts.PARTS}/").removesuffix(".parquet")
        async with target.pool.connection() as conn:
            known = await find_loaded(conn, out.name, name, target.owner)
        if known == part.generation:
            tally = await parts.read_tally(out, name)
            watch.skip(tally.documents)
            continue
        table = await parts.read_part(out, name)
        for some in _cut(table):
            loaded += await _load_some(out, target, some)
            watch.add(len(some), 0)
        async with target.pool.connection() as conn:
            await record_loaded(conn, out.name, part, target.owner)
    return loaded


async def _list_parts(out: Store) -> AsyncIterator[ObjectInfo]:
    async for page in out.pages(parts.PARTS):
        for part in page:
            yield part


def _cut(table: Table) -> Iterator[list[PartRow]]:
    for batch in table.to_batches(max_chunksize=AT_A_TIME):
        yield batch.to_pylist()


FIND_LOADED: Final = """
SELECT generation FROM batch_parts
 WHERE batch = %(batch)s AND part = %(part)s AND recipient = %(owner)s
"""


async def find_loaded(conn: Connection, batch: str, part: str, owner: OwnerKey) -> str | None:
    args = {"batch": batch, "part": part, "owner": owner}
    row = await (await conn.execute(FIND_LOADED, args)).fetchone()
    return row[0] if row else None


RECORD_LOADED: Final = """
INSERT INTO batch_parts (batch, part, recipient, generation)
VALUES (%(batch)s, %(part)s, %(owner)s, %(generation)s)
    ON CONFLICT (batch, part, recipient)
    DO UPDATE SET generation = excluded.generation, loaded_at = now()
"""


async def record_loaded(conn: Connection, batch: str, part: ObjectInfo, owner: OwnerKey) -> None:
    name = part.key.removeprefix(f"{parts.PARTS}/").removesuffix(".parquet")
    args = {"batch": batch, "part": name, "owner": owner, "generation": part.generation}
    await conn.execute(RECORD_LOADED, args)


def name_job(row: PartRow, owner: OwnerKey, mapping: str | None) -> JobId:
    """The same for the same reading, so that a part may be loaded any number of times."""
    what = f"{owner} {row['pipeline']} {row['version']} {mapping or ''}"
    return JobId(uuid5(UUID(row["document_id"]), what))


async def _load_some(out: Store, target: LoadTarget, given: Sequence[PartRow]) -> int:
    """Results first, the rows that name them after: a crash between leaves nothing that counts."""
    read = {
        name_job(row, target.owner, target.mapping): row
        for row in given
        if row["status"] == schema.OK
    }
    async with target.pool.connection() as conn:
        known = await find_jobs(conn, list(read))
    new = {job: row for job, row in read.items() if job not in known}
    if not new:
        return 0
    finished = {job: await _store_result(target, job, row) for job, row in new.items()}
    async with target.pool.connection() as conn:
        await enqueue.ensure_owner(conn, target.owner, about=f"batch {target.owner}")
        missing = finished.keys() - await find_jobs(conn, list(finished))
        await _check_owner(conn, target, [UUID(new[job]["document_id"]) for job in missing])
        for job in sorted(missing):
            await _insert(conn, out.name, target, (job, new[job]))
        await _complete(conn, target, {job: (new[job], finished[job]) for job in sorted(missing)})
    return len(missing)


FIND_JOBS: Final = "SELECT id FROM jobs WHERE id = ANY(%s)"


async def find_jobs(conn: Connection, ids: Sequence[JobId]) -> set[JobId]:
    return {row[0] for row in await (await conn.execute(FIND_JOBS, (list(ids),))).fetchall()}


FIND_STRANGERS: Final = """
SELECT owner FROM documents WHERE id = ANY(%(ids)s) AND owner <> %(owner)s LIMIT 1
"""


async def _check_owner(conn: Connection, target: LoadTarget, ids: Sequence[UUID]) -> None:
    args = {"ids": list(ids), "owner": target.owner}
    if row := await (await conn.execute(FIND_STRANGERS, args)).fetchone():
        raise CommandError(
            f"Some of these documents were loaded for {row[0]}.\nSay --owner {row[0]}."
        )


async def _store_result(target: LoadTarget, job: JobId, row: PartRow) -> Finished:
    """As a worker would have stored it at its first claim."""
    version = row["version"]

    async def keep(content: bytes, kind: str, form: str) -> StoredResult:
        made = Artifact(content, kind)
        return await results.write_result(target.store, result_key(job, 1, form), made, version)

    data = await keep(row["contents"].encode(), JSON, "data")
    document = None
    if row["artifact"]:
        document = await keep(row["artifact"], row["artifact_type"], "document")
    own = schema.list_row_columns(row["pipeline"])
    found = {name: row[name].encode() for name in own if row.get(name)}
    summary = json.loads(row["summary"]) if row["summary"] else None
    return Finished(data, document, found, About(summary))


INSERT: Final = """
INSERT INTO documents (id, owner, sha256, bytes, content_type, original_filename, source, meta,
                       expired_at)
VALUES (%(id)s, %(owner)s, %(sha256)s, %(bytes)s, %(content_type)s, %(filename)s, 'manual',
        %(meta)s, now())
    ON CONFLICT (id) DO NOTHING
"""


async def _insert(
    conn: Connection, batch: str, target: LoadTarget, new: tuple[JobId, PartRow]
) -> None:
    """A document without a file, and its job, queued: nobody sees it before it is complete."""
    job_id, row = new
    args = {
        "id": row["document_id"],
        "owner": target.owner,
        "sha256": row["document_hash"],
        "bytes": row["bytes"],
        "content_type": row["content_type"],
        "filename": clean_filename(display_name(row["key"])),
        "meta": Jsonb({"batch": batch, "key": row["key"]}),
    }
    await conn.execute(INSERT, args)
    job = enqueue.NewJob(
        id=job_id,
        document_id=DocumentId(UUID(row["document_id"])),
        owner=target.owner,
        pipeline=row["pipeline"],
        mapping=target.mapping,
        options={},
        priority=STANDARD,
        dedupe_key=None,
    )
    await enqueue.add_job(conn, job)
    await enqueue.enqueue(conn, job)


THESE: Final = """
WITH picked AS MATERIALIZED (
    SELECT id, owner FROM jobs WHERE id = ANY(%(ids)s) ORDER BY id FOR UPDATE),
"""
CLAIM_THESE: Final = THESE + claim.TAKE


async def _claim(conn: Connection, ids: Sequence[JobId]) -> list[Claimed]:
    args = {**claim.Claimer(WORKER, (), LEASE).args, "ids": list(ids)}
    async with conn.cursor(row_factory=class_row(Claimed)) as cur:
        return await (await cur.execute(CLAIM_THESE, args)).fetchall()


async def _complete(
    conn: Connection, target: LoadTarget, done: Mapping[JobId, tuple[PartRow, Finished]]
) -> None:
    settlements: list[Settlement] = []
    for job in await _claim(conn, list(done)):
        row, finished = done[job.id]
        move = settle(job, finished, retry=NO_RETRY, chance=0)
        usage = Usage(int(row["seconds"] * 1000), int(row["cpu_seconds"] * 1000))
        settlements.append(Settlement(job, move, usage, target.keep))
    await write_settlements(conn, settlements)
    for one in settlements:
        if one.move.rows:
            await rows.write_rows(conn, one.job, one.move.rows)
