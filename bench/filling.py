"""Fills docmill's tables in bulk, with what the road would have written one by one."""

from typing import Final, LiteralString

import psycopg
from psycopg import sql

OWNERS: Final = (
    "INSERT INTO owners (owner) SELECT 'session:' || n FROM generate_series(0, %s - 1) n"
)
DOCUMENTS: Final = """
INSERT INTO documents (id, owner, sha256, bytes, content_type, original_filename, source,
                       upload_key)
SELECT md5(%(name)s || n)::uuid, 'session:' || n %% %(owners)s, repeat('0', 64), 1000,
       'application/pdf', 'a.pdf', 'upload', 'uploads/' || %(name)s || n
  FROM generate_series(1, %(count)s) n
"""
UPLOADED: Final = """
INSERT INTO jobs (id, document_id, owner, pipeline, start_tag)
SELECT d.id, d.id, d.owner, 'extract', 0 FROM documents d
"""
QUEUED: Final = """
UPDATE jobs SET status = 'queued', queued_at = now(), start_tag = place.n
  FROM (SELECT id, row_number() OVER () AS n FROM jobs WHERE status = 'uploaded') AS place
 WHERE jobs.id = place.id
"""
TOLD: Final = """
INSERT INTO job_events (job_id, kind, meta)
SELECT id, unnest(ARRAY['created', 'queued']), '{}' FROM jobs
"""
# Of jobs that ended long ago, or wait: written as they would be by now, past the triggers.
NUMBERED: Final = """
CREATE TEMPORARY TABLE numbered ON COMMIT DROP AS
SELECT n, lpad(to_hex(n), 32, '0')::uuid AS id,
       now() - '1 day'::interval - n * '1 microsecond'::interval AS at,
       'session:' || CASE WHEN %(one)s AND n %% 10 > 0 THEN 0 ELSE n %% %(owners)s END AS owner
  FROM generate_series(%(first)s::int, %(last)s::int) n
"""
THEIR_DOCUMENTS: Final = """
INSERT INTO documents (id, owner, sha256, bytes, content_type, original_filename, source,
                       upload_key)
SELECT id, owner, repeat(md5(n::text), 2), 1000, 'application/pdf', 'a.pdf', 'upload',
       'uploads/' || id FROM numbered
"""
FINISHED: Final = """
INSERT INTO jobs (id, document_id, owner, pipeline, status, progress, start_tag, created_at,
                  updated_at, queued_at, started_at, completed_at, result_key, expires_at, claim,
                  attempt_count, dedupe_key)
SELECT id, id, owner, 'extract', 'complete', 100, n, at, at, at, at, at, 'results/' || id,
       at + '30 days'::interval, 1, 1, 'key ' || n FROM numbered
"""
INDEXES: Final = """
SELECT indexname, indexdef FROM pg_indexes
 WHERE tablename IN ('jobs', 'documents')
   AND indexname NOT IN (SELECT conname FROM pg_constraint)
"""
WAITING: Final = """
INSERT INTO jobs (id, document_id, owner, pipeline, status, start_tag, created_at, updated_at,
                  queued_at, dedupe_key)
SELECT id, id, owner, 'extract', 'queued', n, at, at, at, 'key ' || n FROM numbered
"""


def owners(conn: psycopg.Connection, count: int) -> None:
    conn.execute(OWNERS, (count,))


def enqueue(conn: psycopg.Connection, count: int) -> None:
    """Jobs of all owners in turn, through the triggers that guard the table."""
    found = conn.execute("SELECT count(*) FROM owners").fetchone()
    assert found
    conn.execute(DOCUMENTS, {"name": "d", "owners": found[0], "count": count})
    conn.execute(UPLOADED)
    conn.execute(QUEUED)
    conn.execute(TOLD)


def finished(conn: psycopg.Connection, count: int) -> None:
    """The indexes are built anew afterwards: so a million rows take seconds, not minutes."""
    indexes = conn.execute(INDEXES).fetchall()
    for name, _ in indexes:
        conn.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))
    _number(conn, count, most_of_one=False)
    conn.execute(FINISHED)
    for _, definition in indexes:
        conn.execute(definition)


def queued(conn: psycopg.Connection, count: int, *, most_of_one: bool = False) -> None:
    _number(conn, count, most_of_one=most_of_one)
    conn.execute(WAITING)


def _number(conn: psycopg.Connection, count: int, *, most_of_one: bool) -> None:
    """Documents of the next numbers; triggers are off until the transaction ends."""
    conn.execute("SET LOCAL session_replication_role = replica")
    conn.execute("SET LOCAL maintenance_work_mem = '256MB'")
    conn.execute("DROP TABLE IF EXISTS numbered")
    found = conn.execute("SELECT (SELECT count(*) FROM owners), (SELECT count(*) FROM jobs)")
    number, first = found.fetchone() or (0, 0)
    span = {"owners": number, "first": first + 1, "last": first + count, "one": most_of_one}
    conn.execute(NUMBERED, span)
    conn.execute(THEIR_DOCUMENTS)


def speed(conn: psycopg.Connection, ends: LiteralString) -> float:
    """Jobs a second in full swing, of the instants at which they ended."""
    at = [row[0] for row in conn.execute(ends)]
    first, last = len(at) // 10, len(at) * 9 // 10
    return (last - first) / (at[last] - at[first]).total_seconds()


def settle_down(url: str) -> None:
    """Everybody begins with fresh statistics and a clean table."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("VACUUM (ANALYZE)")
        conn.execute("CHECKPOINT")
