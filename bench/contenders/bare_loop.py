"""The bare limit: psycopg in a loop, claim and complete with an event row each, nothing else."""

from typing import Final

import psycopg

from bench import filling

NAME: Final = "bare psycopg loop"
TABLES: Final = """
CREATE TABLE queue (id bigint PRIMARY KEY, status text NOT NULL, changed_at timestamptz);
CREATE INDEX queue_ready ON queue (id) WHERE status = 'queued';
CREATE TABLE told (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, job bigint NOT NULL,
                   kind text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp());
"""
FILL: Final = "INSERT INTO queue SELECT n, 'queued', now() FROM generate_series(1, %s) n"
ENDS: Final = "SELECT changed_at FROM queue ORDER BY 1"
CLAIM: Final = """
WITH picked AS MATERIALIZED (
    SELECT id FROM queue WHERE status = 'queued' ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED)
UPDATE queue SET status = 'processing', changed_at = now() FROM picked WHERE queue.id = picked.id
RETURNING queue.id
"""
COMPLETE: Final = """
WITH done AS (
    UPDATE queue SET status = 'complete', changed_at = now() WHERE id = ANY(%s) RETURNING id)
INSERT INTO told (job, kind) SELECT id, 'complete' FROM done
"""


def prepare(url: str) -> None:
    with psycopg.connect(url) as conn:
        conn.execute(TABLES)


def fill(url: str, count: int) -> None:
    with psycopg.connect(url) as conn:
        conn.execute("TRUNCATE queue, told")
        conn.execute(FILL, (count,))
    filling.settle_down(url)


def drain(url: str, batch: int) -> float:
    with psycopg.connect(url) as conn:
        while ids := [row[0] for row in conn.execute(CLAIM, (batch,))]:
            conn.commit()
            conn.execute(COMPLETE, (ids,))
            conn.commit()
        return filling.speed(conn, ENDS)
