"""Search in one owner's passages: the nearest by meaning, and the best by their words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from psycopg.rows import class_row

from docmill.core.jobs import DocumentId, JobId
from docmill.core.owners import OwnerKey
from docmill.db import chunks
from docmill.db.pool import Connection

# Each list is so long; what stands in neither is not found.
CANDIDATES: Final = 100
# An owner with fewer vectors is looked through one by one: exact, and as fast as the graph.
EXACT: Final = 10_000
# A word in more of the owner's passages than this says too little to be worth ranking by.
COMMON: Final = 2000


@dataclass(frozen=True, slots=True)
class Only:
    """Which documents to look in; None: whatever."""

    document: UUID | None = None
    filename: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def all(self) -> bool:
        return not (self.document or self.filename or self.since or self.until)


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks for what. `vector` is the question's, as PostgreSQL reads it, made by `model`."""

    owner: OwnerKey
    words: str
    model: str = ""
    vector: str | None = None
    documents: Sequence[DocumentId] | None = None

    @property
    def args(self) -> dict[str, Any]:
        return {
            "owner": self.owner,
            "mark": f"@{self.owner}",
            "words": self.words,
            "model": self.model,
            "vector": self.vector,
            "documents": None if self.documents is None else list(self.documents),
            "limit": CANDIDATES,
            "common": COMMON,
        }


DOCUMENTS: Final = """
SELECT id FROM documents
 WHERE owner = %(owner)s
   AND (%(document)s::uuid IS NULL OR id = %(document)s)
   AND (%(filename)s::text IS NULL OR strpos(lower(original_filename), lower(%(filename)s)) > 0)
   AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s)
   AND (%(until)s::timestamptz IS NULL OR created_at < %(until)s)
"""


async def documents(conn: Connection, owner: OwnerKey, only: Only) -> list[DocumentId] | None:
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


COUNT: Final = """
SELECT count(*) FROM (
    SELECT FROM chunk_vectors WHERE owner = %(owner)s AND model = %(model)s LIMIT %(most)s) AS few
"""
NEAREST_OF_FEW: Final = """
WITH own AS MATERIALIZED (
    SELECT chunk_id, embedding <=> %(vector)s::halfvec(384) AS distance
      FROM chunk_vectors
     WHERE owner = %(owner)s AND model = %(model)s
       AND (%(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s)))
SELECT chunk_id FROM own ORDER BY distance, chunk_id LIMIT %(limit)s
"""
NEAREST_OF_MANY: Final = """
SELECT chunk_id FROM chunk_vectors
 WHERE owner = %(owner)s AND model = %(model)s
   AND (%(documents)s::uuid[] IS NULL OR document_id = ANY(%(documents)s))
 ORDER BY embedding <=> %(vector)s::halfvec(384) LIMIT %(limit)s
"""


async def nearest(conn: Connection, asked: Asked) -> list[int]:
    """The passages nearest in meaning; none where there are no vectors. Needs a transaction."""
    if asked.vector is None or not await chunks.have_vectors(conn):
        return []
    args = {**asked.args, "most": EXACT + 1}
    row = await (await conn.execute(COUNT, args)).fetchone()
    few = row is not None and row[0] <= EXACT
    if not few:
        # The graph knows nothing of owners: go on in it until enough of theirs are found.
        await conn.execute("SET LOCAL hnsw.iterative_scan = strict_order")
        await conn.execute("SET LOCAL hnsw.ef_search = 200")
    found = await conn.execute(NEAREST_OF_FEW if few else NEAREST_OF_MANY, args)
    return [row[0] for row in await found.fetchall()]


# Words count by how rare they are among the owner's passages. Common ones only rank what others
# found, unless all are common: then a passage must have them all. One scan of the index each.
BEST: Final = """
WITH given AS MATERIALIZED (
    SELECT quote_literal(lexeme)::tsquery AS word
      FROM unnest(to_tsvector('english', %(words)s)) LIMIT 32),
counted AS MATERIALIZED (
    SELECT given.word, quote_literal(%(mark)s)::tsquery && given.word AS own, found.passages
      FROM given CROSS JOIN LATERAL (
           SELECT count(*) AS passages FROM (
               SELECT FROM chunks
                WHERE chunks.words @@ (quote_literal(%(mark)s)::tsquery && given.word)
                LIMIT %(common)s) AS some) AS found
     WHERE found.passages > 0),
weighed AS MATERIALIZED (
    SELECT word, own, passages, ln(1 + 3.0 * %(common)s / passages) AS weight FROM counted),
wanted AS MATERIALIZED (
    SELECT string_agg(own::text, ' | ')::tsquery AS query
      FROM weighed WHERE passages < %(common)s),
otherwise AS MATERIALIZED (
    SELECT string_agg(own::text, ' & ')::tsquery AS query FROM weighed),
found AS MATERIALIZED (
    SELECT chunks.id, chunks.words
      FROM chunks
     WHERE chunks.words @@ (
               SELECT coalesce(wanted.query, otherwise.query) FROM wanted, otherwise)
       AND chunks.owner = %(owner)s
       AND (%(documents)s::uuid[] IS NULL OR chunks.document_id = ANY(%(documents)s))
     LIMIT 10000)
SELECT found.id
  FROM found CROSS JOIN LATERAL (
       SELECT sum(weight * ts_rank(found.words, word, 1)) AS rank FROM weighed) AS ranked
 ORDER BY ranked.rank DESC, found.id LIMIT %(limit)s
"""


async def best(conn: Connection, asked: Asked) -> list[int]:
    """The passages that fit the words best."""
    found = await (await conn.execute(BEST, asked.args)).fetchall()
    return [row[0] for row in found]


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage and where it stands; `marked` is its text with the words asked for between
    the characters 2 and 3."""

    id: int
    document_id: DocumentId
    job_id: JobId
    filename: str
    page: int
    box: list[float] | None
    heading: str
    text: str
    marked: str


HITS: Final = """
SELECT c.id, c.document_id, c.job_id, d.original_filename AS filename, c.page, c.box, c.heading,
       c.text,
       ts_headline('english', c.text, %(query)s::tsquery,
                   E'HighlightAll=true, StartSel=\\x02, StopSel=\\x03') AS marked
  FROM chunks c JOIN documents d ON d.id = c.document_id
 WHERE c.id = ANY(%(ids)s) AND c.owner = %(owner)s
"""
QUERY: Final = """
SELECT coalesce(string_agg(quote_literal(lexeme), ' | '), '')
  FROM unnest(to_tsvector('english', %s))
"""


async def hits(conn: Connection, asked: Asked, ids: Sequence[int]) -> dict[int, Hit]:
    row = await (await conn.execute(QUERY, (asked.words,))).fetchone()
    args = {"query": row[0] if row else "", "ids": list(ids), "owner": asked.owner}
    async with conn.cursor(row_factory=class_row(Hit)) as cur:
        found = await (await cur.execute(HITS, args)).fetchall()
    return {hit.id: hit for hit in found}
