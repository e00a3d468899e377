"""How well passages fit a question, by meaning and by words, made one score."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import structlog
from psycopg import sql
from psycopg.rows import class_row

from docmill.core.jobs import Claimed, DocumentId, JobId
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection
from docmill.reading.embeddings import VectorModel

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Likeness:
    """Of one passage: its words' weights added up, and how near it is in meaning, 1 at most.

    `meaning` is None where the passage has no vector of the model that is asked.
    """

    id: int
    words: float
    meaning: float | None


def weigh_word(passages: float, of: float) -> float:
    """The weight of a word that so many of the passages have."""
    return math.log1p(of / passages)


CLEAR_CHUNKS: Final = "DELETE FROM chunks WHERE job_id = %s"
ADD_CHUNKS: Final = """
INSERT INTO chunks (job_id, document_id, owner, position, page, page_size, box, heading, text)
SELECT %(job)s, %(document)s, %(owner)s, position, c.page, c.page_size, c.box, c.heading, c.text
  FROM ROWS FROM (jsonb_to_recordset(%(rows)s::jsonb) AS (
           page int, page_size real[], box real[], heading text, text text))
       WITH ORDINALITY AS c(page, page_size, box, heading, text, position)
"""
ADD_VECTORS: Final = """
INSERT INTO chunk_vectors (chunk_id, part, document_id, owner, model, embedding)
SELECT chunks.id, e.part, chunks.document_id, chunks.owner, v.model, e.embedding::halfvec
  FROM ROWS FROM (jsonb_to_recordset(%(rows)s::jsonb) AS (model text, embeddings jsonb))
       WITH ORDINALITY AS v(model, embeddings, position)
  JOIN chunks ON chunks.job_id = %(job)s AND chunks.position = v.position
 CROSS JOIN jsonb_array_elements_text(v.embeddings) WITH ORDINALITY AS e(embedding, part)
"""


ADD_MODELS: Final = """
INSERT INTO embedding_models (model, width)
SELECT DISTINCT v.model, vector_dims((v.embeddings->>0)::halfvec)
  FROM jsonb_to_recordset(%(rows)s::jsonb) AS v(model text, embeddings jsonb)
 WHERE v.embeddings->>0 IS NOT NULL
    ON CONFLICT DO NOTHING RETURNING model, width
"""
MOST_INDEXED: Final = 4000  # numbers in a vector that pgvector can put into a graph


async def write_chunks(conn: Connection, job: Claimed, rows: str) -> None:
    await conn.execute(CLEAR_CHUNKS, (job.id,))
    given = {"job": job.id, "document": job.document_id, "owner": job.owner, "rows": rows}
    await conn.execute(ADD_CHUNKS, given)
    if await have_vectors(conn):
        await add_models(conn, rows)
        await conn.execute(ADD_VECTORS, given)


async def add_models(conn: Connection, rows: str) -> None:
    """The models of these rows, before their vectors; one too wide for a graph is told of once."""
    for model, width in await (await conn.execute(ADD_MODELS, {"rows": rows})).fetchall():
        if width > MOST_INDEXED:
            log.warning("vectors.without_graph", model=model, width=width, most=MOST_INDEXED)


HAVE_VECTORS: Final = "SELECT to_regclass('chunk_vectors') IS NOT NULL"


async def have_vectors(conn: Connection) -> bool:
    row = await (await conn.execute(HAVE_VECTORS)).fetchone()
    return row == (True,)


CHUNKS_EXIST: Final = "SELECT EXISTS (SELECT FROM chunks WHERE job_id = %s)"


async def chunks_exist(conn: Connection, job_id: JobId) -> bool:
    row = await (await conn.execute(CHUNKS_EXIST, (job_id,))).fetchone()
    return row == (True,)


CLEAR_FIELDS: Final = "DELETE FROM document_fields WHERE job_id = %s"
ADD_FIELDS: Final = """
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


async def write_fields(conn: Connection, job: Claimed, rows: str) -> None:
    await conn.execute(CLEAR_FIELDS, (job.id,))
    given = {"job": job.id, "document": job.document_id, "owner": job.owner, "rows": rows}
    await conn.execute(ADD_FIELDS, given)


FIELDS_EXIST: Final = "SELECT EXISTS (SELECT FROM document_fields WHERE job_id = %s)"


async def fields_exist(conn: Connection, job_id: JobId) -> bool:
    row = await (await conn.execute(FIELDS_EXIST, (job_id,))).fetchone()
    return row == (True,)


# Each way of looking brings so many; what none of them brings is not found.
CANDIDATES: Final = 100
# An owner with fewer vectors is looked through one by one: exact, and as fast as the graph.
EXACT: Final = 10_000
# A word in more of the owner's passages than this says too little to look for.
COMMON: Final = 2000
# An owner with fewer passages has the words counted in them. Beyond, counting would take longer
# than all the rest, and PostgreSQL's statistics tell of the words that many passages have.
COUNTED: Final = 20_000


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Which documents to look in; None: whatever."""

    document: UUID | None = None
    filename: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def all(self) -> bool:
        return not (self.document or self.filename or self.since or self.until)


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """Who asks for what. `vector` is the question's, as PostgreSQL reads it, made by `model`."""

    owner: OwnerKey
    words: str
    model: VectorModel | None = None
    vector: str | None = None
    documents: Sequence[DocumentId] | None = None

    @property
    def args(self) -> dict[str, Any]:
        return {
            "owner": self.owner,
            "mark": f"@{self.owner}",
            "words": self.words,
            "model": self.model.key if self.model else "",
            "vector": self.vector,
            "documents": None if self.documents is None else list(self.documents),
            "limit": CANDIDATES,
        }


DOCUMENTS: Final = """
SELECT id FROM documents
 WHERE owner = %(owner)s
   AND (%(document)s::uuid IS NULL OR id = %(document)s)
   AND (%(filename)s::text IS NULL OR strpos(lower(original_filename), lower(%(filename)s)) > 0)
   AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s)
   AND (%(until)s::timestamptz IS NULL OR created_at < %(until)s)
"""


async def find_documents(
    conn: Connection, owner: OwnerKey, only: SearchFilter
) -> list[DocumentId] | None:
    """The owner's documents to look in; None for all of them."""
    if only.all:
        return None
    args = {
        "owner": owner,
        "document": only.document,
        "filename": only.filename,
        "since": only.since,
        "until": only.until,
    }
    return [row[0] for row in await (await conn.execute(DOCUMENTS, args)).fetchall()]


MODELS: Final = """
SELECT model, width FROM embedding_models AS m
 WHERE EXISTS (SELECT FROM chunk_vectors AS v WHERE v.owner = %(owner)s AND v.model = m.model)
"""
# A passage with a vector has a first part.
PASSAGES: Final = """
SELECT model, count(*) FROM chunk_vectors
 WHERE owner = %(owner)s AND model = ANY(%(models)s) AND part = 1 GROUP BY model
"""


async def rank_models(conn: Connection, owner: OwnerKey) -> list[VectorModel]:
    """The models that made the owner's vectors, the one with the most of the passages first.

    An archive on its way to another model is asked by the old one until the new has as many.
    """
    if not await have_vectors(conn):
        return []
    rows = await (await conn.execute(MODELS, {"owner": owner})).fetchall()
    models = [VectorModel(*row) for row in rows]
    if len(models) <= 1:
        return models
    args = {"owner": owner, "models": [one.key for one in models]}
    counts = dict(await (await conn.execute(PASSAGES, args)).fetchall())
    return sorted(models, key=lambda one: (-counts.get(one.key, 0), one.key))


COUNT: Final = """
SELECT count(*) FROM (
    SELECT FROM chunk_vectors WHERE owner = %(owner)s AND model = %(model)s LIMIT %(most)s) AS few
"""
NEAREST_OF_FEW: Final = """
WITH own AS MATERIALIZED (
    SELECT chunk_id, embedding <=> %(vector)s::halfvec AS distance
      FROM chunk_vectors
     WHERE owner = %(owner)s AND model = %(model)s
       AND (%(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s)))
SELECT chunk_id FROM own GROUP BY chunk_id ORDER BY min(distance), chunk_id LIMIT %(limit)s
"""
# Of a passage several parts may be near, so some more are looked at. The width is written out,
# as the model's graph has it.
NEAREST_OF_MANY: Final = sql.SQL("""
WITH near AS MATERIALIZED (
    SELECT chunk_id, embedding::halfvec({width}) <=> %(vector)s::halfvec({width}) AS distance
      FROM chunk_vectors
     WHERE owner = %(owner)s AND model = %(model)s
       AND (%(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s))
     ORDER BY embedding::halfvec({width}) <=> %(vector)s::halfvec({width}) LIMIT 2 * %(limit)s)
SELECT chunk_id FROM near GROUP BY chunk_id ORDER BY min(distance), chunk_id LIMIT %(limit)s
""")


async def find_nearest(conn: Connection, asked: SearchQuery) -> list[int]:
    """The passages nearest in meaning; none where there are no vectors. Needs a transaction."""
    if asked.model is None or asked.vector is None or not await have_vectors(conn):
        return []
    args = {**asked.args, "most": EXACT + 1}
    row = await (await conn.execute(COUNT, args)).fetchone()
    if row is not None and row[0] <= EXACT:
        found = await conn.execute(NEAREST_OF_FEW, args)
    else:
        # The graph knows nothing of owners: go on in it until enough of theirs are found. It is
        # one model's, which a plan for any parameters could not know.
        await conn.execute("SET LOCAL hnsw.iterative_scan = strict_order")
        await conn.execute("SET LOCAL hnsw.ef_search = 200")
        await conn.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        width = sql.Literal(asked.model.width)
        found = await conn.execute(NEAREST_OF_MANY.format(width=width), args)
    return [row[0] for row in await found.fetchall()]


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The words of a question that the owner's passages have, as tsqueries, and their weights.

    `query` is what a passage must have to be looked at: one of the words that are not common, or
    all of them where all are common. None: no words, no passage.
    """

    each: list[str]
    weights: list[float]
    query: str | None


LEXEMES: Final = """
SELECT array(SELECT lexeme FROM unnest(to_tsvector('english', %(words)s)) LIMIT 32),
       (SELECT count(*) FROM (SELECT FROM chunks WHERE owner = %(owner)s LIMIT %(most)s) AS few)
"""
# The owner is one of the words: the index finds their passages and nobody else's.
COUNT_WORDS: Final = """
SELECT given.lexeme, found.passages
  FROM unnest(%(lexemes)s::text[]) AS given(lexeme) CROSS JOIN LATERAL (
       SELECT count(*) AS passages FROM (
           SELECT FROM chunks
            WHERE chunks.words @@ (
                quote_literal(%(mark)s)::tsquery && quote_literal(given.lexeme)::tsquery)
            LIMIT %(common)s) AS few) AS found
 WHERE found.passages > 0
"""
KNOWN_WORDS: Final = """
SELECT e.lexeme, e.share * c.reltuples
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname AND s.attname = 'words'
 CROSS JOIN unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs)
       AS e(lexeme, share)
 WHERE c.oid = 'chunks'::regclass AND e.lexeme = ANY(%(lexemes)s)
   AND e.share * c.reltuples >= %(common)s
"""


async def weigh_words(conn: Connection, asked: SearchQuery) -> QueryWords:
    """The words asked for, weighed by how rare they are among the owner's passages."""
    args = {**asked.args, "most": COUNTED, "common": COMMON}
    mark: str = asked.args["mark"]
    row = await (await conn.execute(LEXEMES, args)).fetchone()
    lexemes, of = row or ([], 0)
    known: dict[str, float] = {}
    if of == COUNTED:
        marked = {**args, "lexemes": [*lexemes, mark]}
        known = dict(await (await conn.execute(KNOWN_WORDS, marked)).fetchall())
        of = max(of, known.pop(mark, 0))
    unknown = {**args, "lexemes": [lexeme for lexeme in lexemes if lexeme not in known]}
    known |= dict(await (await conn.execute(COUNT_WORDS, unknown)).fetchall())
    quoted = {lexeme: _quote_lexeme(lexeme) for lexeme in known}
    rare = [quoted[lexeme] for lexeme, passages in known.items() if passages < COMMON]
    return QueryWords(
        [*quoted.values()],
        [weigh_word(passages, of) for passages in known.values()],
        " | ".join(rare) or " & ".join(quoted.values()) or None,
    )


def _quote_lexeme(lexeme: str) -> str:
    """As a tsquery writes it."""
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


# SweptCount times ten, ts_rank of one word goes from 0.61 where it stands once towards 1.
BEST: Final = """
WITH found AS MATERIALIZED (
    SELECT chunks.id, chunks.words
      FROM chunks
     WHERE chunks.words @@ (quote_literal(%(mark)s)::tsquery && %(query)s::tsquery)
       AND chunks.owner = %(owner)s
       AND (%(documents)s::uuid[] IS NULL OR chunks.document_id = ANY(%(documents)s))
     LIMIT 10000)
SELECT found.id
  FROM found CROSS JOIN LATERAL (
       SELECT sum(weight * ts_rank(found.words, word)) AS rank
         FROM unnest(%(each)s::tsquery[], %(weights)s::float[]) AS w(word, weight)) AS ranked
 ORDER BY ranked.rank DESC, found.id LIMIT %(limit)s
"""


async def find_best(conn: Connection, asked: SearchQuery, given: QueryWords) -> list[int]:
    """The passages that fit the words best."""
    if given.query is None:
        return []
    args = {**asked.args, "query": given.query, "each": given.each, "weights": given.weights}
    return [row[0] for row in await (await conn.execute(BEST, args)).fetchall()]


BY_WORDS: Final = """
SELECT id, (SELECT sum(10 * weight * ts_rank(chunks.words, word))
              FROM unnest(%(each)s::tsquery[], %(weights)s::float[]) AS w(word, weight))
  FROM chunks WHERE id = ANY(%(ids)s) AND owner = %(owner)s
"""
BY_MEANING: Final = """
SELECT chunk_id, 1 - min(embedding <=> %(vector)s::halfvec)
  FROM chunk_vectors
 WHERE chunk_id = ANY(%(ids)s) AND owner = %(owner)s AND model = %(model)s
 GROUP BY chunk_id
"""


async def rate_likeness(
    conn: Connection, asked: SearchQuery, given: QueryWords, ids: Sequence[int]
) -> list[Likeness]:
    """How well each of these passages fits, by its words and by its meaning."""
    args = {**asked.args, "ids": list(ids), "each": given.each, "weights": given.weights}
    by_words = dict(await (await conn.execute(BY_WORDS, args)).fetchall())
    near: dict[int, float] = {}
    if asked.vector is not None and await have_vectors(conn):
        near = dict(await (await conn.execute(BY_MEANING, args)).fetchall())
    return [Likeness(id_, score or 0.0, near.get(id_)) for id_, score in by_words.items()]


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage and where it stands; `marked` is its text with the words asked for between
    the characters 2 and 3."""

    id: int
    document_id: DocumentId
    job_id: JobId
    filename: str
    page: int
    page_size: list[float] | None
    box: list[float] | None
    heading: str
    text: str
    marked: str


HITS: Final = """
SELECT c.id, c.document_id, c.job_id, d.original_filename AS filename, c.page, c.page_size,
       c.box, c.heading, c.text,
       ts_headline('english', c.text, %(query)s::tsquery,
                   E'HighlightAll=true, StartSel=\\x02, StopSel=\\x03') AS marked
  FROM chunks c JOIN documents d ON d.id = c.document_id
 WHERE c.id = ANY(%(ids)s) AND c.owner = %(owner)s
"""
QUERY: Final = """
SELECT coalesce(string_agg(quote_literal(lexeme), ' | '), '')
  FROM unnest(to_tsvector('english', %s))
"""


async def fetch_hits(conn: Connection, asked: SearchQuery, ids: Sequence[int]) -> dict[int, Hit]:
    row = await (await conn.execute(QUERY, (asked.words,))).fetchone()
    args = {"query": row[0] if row else "", "ids": list(ids), "owner": asked.owner}
    async with conn.cursor(row_factory=class_row(Hit)) as cur:
        found = await (await cur.execute(HITS, args)).fetchall()
    return {hit.id: hit for hit in found}
