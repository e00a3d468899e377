"""What came of documents: trades found, results approved by rule, objects of buckets, and keys."""

from dataclasses import dataclass
from typing import Final

from psycopg.rows import class_row

from docmill.db.pool import Connection
from docmill.web.params import Instant

# So many of the newest of a kind are looked at.
SEEN: Final = 500


@dataclass(frozen=True, slots=True)
class Yield:
    """Of the newest 500: trades found, documents that held none, and results nobody had to touch.

    `without` are jobs of the newest documents without trades.
    """

    trade_documents: int = 0
    trades: int = 0
    without_trades: int = 0
    without: list[str] | None = None
    invoices: int = 0
    invoices_by_rule: int = 0
    trades_by_rule: int = 0


YIELD: Final = """
WITH notes AS MATERIALIZED (
    SELECT id, document_id, completed_at FROM jobs WHERE status = 'complete' AND pipeline = 'trades'
     ORDER BY completed_at DESC LIMIT %(seen)s),
found AS MATERIALIZED (
    SELECT notes.id, notes.completed_at, t.trades, t.by_rule
      FROM notes CROSS JOIN LATERAL (
           SELECT count(*) AS trades, count(raw_extracted_data #>> '{promise,rule}') AS by_rule
             FROM trades
            WHERE document_id = notes.document_id) AS t),
invoices AS MATERIALIZED (
    SELECT r.rule FROM (
        SELECT id FROM jobs WHERE status = 'complete' AND pipeline = 'invoice'
         ORDER BY completed_at DESC LIMIT %(seen)s) AS j JOIN reviews r ON r.job_id = j.id)
SELECT count(*)::int AS trade_documents, coalesce(sum(trades), 0)::int AS trades,
       (count(*) FILTER (WHERE trades = 0))::int AS without_trades,
       (array_agg(id::text ORDER BY completed_at DESC) FILTER (WHERE trades = 0))[1:5] AS without,
       (SELECT count(*)::int FROM invoices) AS invoices,
       (SELECT count(rule)::int FROM invoices) AS invoices_by_rule,
       coalesce(sum(by_rule), 0)::int AS trades_by_rule
  FROM found
"""


async def measure_yield(conn: Connection) -> Yield:
    async with conn.cursor(row_factory=class_row(Yield)) as cur:
        return await (await cur.execute(YIELD, {"seen": SEEN})).fetchone() or Yield()


@dataclass(frozen=True, slots=True)
class ObjectCount:
    """Of the newest 500 objects of a source, those in one state."""

    source: str
    state: str
    objects: int


OBJECTS: Final = """
SELECT s.name AS source, o.state, count(*)::int AS objects
  FROM sources s CROSS JOIN LATERAL (
       SELECT state FROM bucket_objects
        WHERE owner = s.owner AND source = s.name ORDER BY registered_at DESC LIMIT %s) AS o
 GROUP BY s.name, o.state ORDER BY s.name, o.state
"""


async def count_objects(conn: Connection) -> list[ObjectCount]:
    async with conn.cursor(row_factory=class_row(ObjectCount)) as cur:
        return await (await cur.execute(OBJECTS, (SEEN,))).fetchall()


@dataclass(frozen=True, slots=True)
class KeyLine:
    """A key that is good, never the key itself."""

    owner: str
    name: str
    scopes: list[str]
    last_used_at: Instant | None


KEYS: Final = """
SELECT owner, name, scopes, last_used_at FROM api_keys
 WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
 ORDER BY last_used_at DESC NULLS LAST, id LIMIT %s
"""
KEYS_SHOWN: Final = 20


async def list_keys(conn: Connection) -> list[KeyLine]:
    """The last used first."""
    async with conn.cursor(row_factory=class_row(KeyLine)) as cur:
        return await (await cur.execute(KEYS, (KEYS_SHOWN,))).fetchall()
