"""The graphs that find near vectors, one for each model, and moving passages to another model."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from psycopg import sql

from docmill.db.pool import Connection, Pool
from docmill.extract import queries
from docmill.extract.queries import EXACT, MOST_INDEXED
from docmill.reading.embeddings import VectorModel
from docmill.storage.contract import Store

log = structlog.get_logger()

# Below, each owner's vectors are looked through one by one, and a graph would only cost.
MODELS_IN_USE: Final = """
SELECT m.model, m.width, few.count FROM embedding_models AS m CROSS JOIN LATERAL (
       SELECT count(*) FROM (
           SELECT FROM chunk_vectors AS v WHERE v.model = m.model LIMIT %(enough)s) AS own) AS few
"""
# Left by a build that was killed; one that goes on is not.
BROKEN: Final = """
SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass(%(name)s) AND NOT indisvalid
                  AND indexrelid NOT IN (SELECT index_relid FROM pg_stat_progress_create_index))
"""
BUILD: Final = sql.SQL("""
CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON chunk_vectors
 USING hnsw ((embedding::halfvec({width})) halfvec_cosine_ops) WHERE model = {model}
""")
DROP: Final = sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {name}")


def name_graph(model: VectorModel) -> str:
    """Models may be called anything; indexes may not."""
    return f"chunk_vectors_near_{hashlib.sha256(model.key.encode()).hexdigest()[:16]}"


def build_statement(model: VectorModel) -> sql.Composed:
    return BUILD.format(
        name=sql.Identifier(name_graph(model)),
        width=sql.Literal(model.width),
        model=sql.Literal(model.key),
    )


async def keep_graphs(pool: Pool, _: Store) -> None:
    await build_graphs(pool)


async def build_graphs(pool: Pool) -> None:
    """A graph for each model with many vectors, none for one without; nobody waits meanwhile."""
    async with pool.connection() as conn:
        if not await queries.have_vectors(conn):
            return
        args = {"enough": EXACT + 1}
        models = await (await conn.execute(MODELS_IN_USE, args)).fetchall()
        await conn.commit()
        await conn.set_autocommit(True)
        try:
            await conn.execute("SET lock_timeout = 0")
            for key, width, count in models:
                await _keep_graph(conn, VectorModel(key, width), count)
        finally:
            await conn.execute("RESET lock_timeout")
            await conn.set_autocommit(False)


async def _keep_graph(conn: Connection, model: VectorModel, count: int) -> None:
    drop = DROP.format(name=sql.Identifier(name_graph(model)))
    row = await (await conn.execute(BROKEN, {"name": name_graph(model)})).fetchone()
    if row == (True,) or not count:
        await conn.execute(drop)
    if count > EXACT and model.width <= MOST_INDEXED:
        await conn.execute(build_statement(model))


@dataclass(frozen=True, slots=True)
class StoredPassage:
    id: int
    heading: str
    text: str


# `again`: also those that have vectors, but of other models.
COUNT_LACKING: Final = """
SELECT count(*) FROM chunks AS c
 WHERE NOT EXISTS (SELECT FROM chunk_vectors AS v WHERE v.chunk_id = c.id
                      AND (v.model = %(model)s OR NOT %(again)s))
"""
LIST_LACKING: Final = """
SELECT c.id, c.heading, c.text FROM chunks AS c
 WHERE c.id > %(after)s
   AND NOT EXISTS (SELECT FROM chunk_vectors AS v WHERE v.chunk_id = c.id
                      AND (v.model = %(model)s OR NOT %(again)s))
 ORDER BY c.id LIMIT %(limit)s
"""


async def count_lacking(conn: Connection, model: VectorModel, *, again: bool) -> int:
    args = {"model": model.key, "again": again}
    row = await (await conn.execute(COUNT_LACKING, args)).fetchone()
    return row[0] if row else 0


async def list_lacking(
    conn: Connection, model: VectorModel, *, again: bool, after: int, limit: int
) -> list[StoredPassage]:
    args = {"model": model.key, "again": again, "after": after, "limit": limit}
    rows = await (await conn.execute(LIST_LACKING, args)).fetchall()
    return [StoredPassage(*row) for row in rows]


# The passages are held, so that none changes hands or goes between being read and written.
ADD_TO_PASSAGES: Final = """
WITH held AS MATERIALIZED (
    SELECT id, document_id, owner FROM chunks WHERE id = ANY(%(ids)s) ORDER BY id FOR SHARE)
INSERT INTO chunk_vectors (chunk_id, part, document_id, owner, model, embedding)
SELECT held.id, e.part, held.document_id, held.owner, v.model, e.embedding::halfvec
  FROM jsonb_to_recordset(%(rows)s::jsonb) AS v(id bigint, model text, embeddings jsonb)
  JOIN held USING (id)
 CROSS JOIN jsonb_array_elements_text(v.embeddings) WITH ORDINALITY AS e(embedding, part)
    ON CONFLICT DO NOTHING
"""


async def add_vectors(
    conn: Connection, model: VectorModel, made: Sequence[tuple[int, list[str]]]
) -> None:
    """Of each passage by its number, the vectors of its parts."""
    rows = [{"id": id_, "model": model.key, "embeddings": parts} for id_, parts in made]
    written = json.dumps(rows)
    await queries.add_models(conn, written)
    await conn.execute(ADD_TO_PASSAGES, {"ids": [id_ for id_, _ in made], "rows": written})


# Only where the new ones are: what another process has added since keeps what it has.
DROP_OLD: Final = """
DELETE FROM chunk_vectors AS old USING (
    SELECT v.chunk_id, v.model, v.part FROM chunk_vectors AS v
     WHERE v.model <> %(model)s
       AND EXISTS (SELECT FROM chunk_vectors AS n
                    WHERE n.chunk_id = v.chunk_id AND n.model = %(model)s)
     LIMIT %(limit)s) AS chosen
 WHERE old.chunk_id = chosen.chunk_id AND old.model = chosen.model AND old.part = chosen.part
"""


async def drop_old_vectors(conn: Connection, model: VectorModel, *, limit: int) -> int:
    """Some vectors of other models, of passages that have this one's; how many."""
    return (await conn.execute(DROP_OLD, {"model": model.key, "limit": limit})).rowcount
