"""Fills docmill's tables in bulk, with what the road would have written one by one."""

from typing import Final

import psycopg

OWNERS: Final = "INSERT INTO owners (owner) SELECT 'session:' || n FROM generate_series(0, %s - 1) n"
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


def settle_down(url: str) -> None:
    """Everybody begins with fresh statistics and a clean table."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("VACUUM (ANALYZE)")
        conn.execute("CHECKPOINT")
