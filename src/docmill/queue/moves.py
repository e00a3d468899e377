"""The SQL that moves jobs: a statement lists what it changes once, and writes all of it at once.

Whoever claims gives the jobs he chose, `picked`; whoever settles those that have ended, `mine`.
One UPDATE and one INSERT serve both: PostgreSQL prepares a table's checks, indexes and triggers
anew for each that a statement has. Whoever claims alone has shorter ones, with the same meaning.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from psycopg import AsyncRawCursor
from psycopg.rows import AsyncRowFactory, Row

from docmill.db.pool import Connection

# What a claim makes of a job, and what its ending does: the same columns. `rest` has what few
# endings tell, by name.
TAKES: Final = """
    SELECT id, owner, true AS takes, 'processing' AS goes, %(worker)s::text AS worker,
           now() + %(lease)s AS lease_until, %(gateways)s::jsonb AS gateways,
           NULL::text AS code, false AS refund, NULL::interval AS keep, NULL::text AS result_key,
           NULL::jsonb AS meta, NULL::jsonb AS rest
      FROM picked
"""
ENDS: Final = """
    SELECT id, owner, false AS takes, goes, leased_by AS worker,
           NULL::timestamptz AS lease_until, NULL::jsonb AS gateways,
           code, coalesce((rest ->> 'refund')::boolean, false) AS refund, keep, result_key,
           meta, rest
      FROM mine
"""
# Each job gets a time of its own, and the clock of its owner is moved once, as many microseconds as
# they are apart. Owners are locked in order, and after the jobs.
CHANGING: Final = """
changing AS MATERIALIZED (
    SELECT every.*, row_number() OVER () AS place FROM (
"""
CLOCK: Final = """
    ) AS every),
held AS MATERIALIZED (
    SELECT owner FROM owners WHERE owner IN (SELECT owner FROM changing) ORDER BY owner FOR UPDATE),
clock AS (
    UPDATE owners
       SET changed_at = greatest(clock_timestamp(), changed_at + interval '1 microsecond')
                        + (his.last - his.first) * interval '1 microsecond'
      FROM (SELECT owner, min(place) AS first, max(place) AS last FROM changing
             WHERE (SELECT count(*) FROM held) > 0 GROUP BY owner) AS his
     WHERE owners.owner = his.owner
    RETURNING owners.owner, owners.changed_at, his.last),
"""
# A job that is taken has nothing of an ending yet: the table's checks say so.
MOVED: Final = """
moved AS (
    UPDATE jobs
       SET status = c.goes,
           updated_at = clock.changed_at - (clock.last - c.place) * interval '1 microsecond',
           started_at = CASE WHEN c.takes THEN now() ELSE jobs.started_at END,
           leased_by = CASE WHEN c.takes THEN c.worker END, lease_expires_at = c.lease_until,
           claim = jobs.claim + c.takes::int,
           attempt_count = jobs.attempt_count + c.takes::int - c.refund::int,
           run_at = CASE WHEN c.goes = 'queued' THEN now() + (c.rest ->> 'delay')::interval END,
           queued_at = CASE WHEN c.goes = 'queued' AND NOT c.refund THEN now()
                            ELSE jobs.queued_at END,
           progress = CASE WHEN c.goes = 'complete' THEN 100 ELSE jobs.progress END,
           stage = CASE WHEN c.takes THEN jobs.stage ELSE '' END,
           result_key = c.result_key, reading_key = c.rest ->> 'reading_key',
           reason = CASE WHEN c.goes = 'failed' THEN c.rest ->> 'reason' END,
           summary = CASE WHEN c.takes THEN jobs.summary
                          WHEN c.goes <> 'queued' THEN c.rest -> 'summary' END,
           pipeline = coalesce(c.rest #>> '{read_as,pipeline}', jobs.pipeline),
           mapping = CASE WHEN c.rest ? 'read_as' THEN c.rest #>> '{read_as,mapping}'
                          ELSE jobs.mapping END,
           decision = CASE WHEN c.takes THEN jobs.decision ELSE c.rest #>> '{read_as,decision}' END,
           expires_at = CASE WHEN c.takes THEN jobs.expires_at
                             WHEN c.goes = 'complete' OR c.rest ? 'reading_key'
                             THEN now() + c.keep END,
           completed_at = CASE WHEN c.goes = 'complete' THEN now() END,
           failed_at = CASE WHEN c.goes = 'failed' THEN now() END,
           error_code = CASE WHEN c.goes = 'failed' THEN c.code END,
           error_message = CASE WHEN c.goes = 'failed' THEN c.rest ->> 'message' END
      FROM changing AS c JOIN clock USING (owner) WHERE jobs.id = c.id
    RETURNING jobs.id, jobs.document_id, jobs.owner, jobs.pipeline, jobs.mapping, jobs.options,
              jobs.duplicate_of, jobs.claim, jobs.attempt_count, jobs.priority, jobs.start_tag,
              jobs.long, jobs.tries_before + jobs.attempt_count AS tries, jobs.run_at,
              c.takes, c.goes, c.worker, c.gateways, c.refund, c.meta),
"""
# An ending says by itself what its event tells, but for the time that the database chose.
TOLD: Final = """
told AS (
    INSERT INTO job_events (job_id, kind, worker, meta)
    SELECT id,
           CASE WHEN goes <> 'queued' THEN goes WHEN refund THEN 'queued' ELSE 'retry' END,
           worker,
           CASE WHEN NOT takes AND run_at IS NULL THEN meta
                WHEN NOT takes THEN meta || jsonb_build_object('run_at', run_at)
                WHEN gateways ? pipeline THEN jsonb_build_object(
                    'from', 'queued', 'to', goes, 'attempt', tries, 'claim', claim,
                    'gateway', gateways -> pipeline)
                ELSE '{"from": "queued", "to": "processing"}'::jsonb
                     || jsonb_build_object('attempt', tries, 'claim', claim) END
      FROM moved)
"""
TRIED: Final = """
tried AS (
    INSERT INTO job_attempts (job_id, claim, attempt, worker)
    SELECT id, claim, tries, worker FROM moved WHERE takes),
"""
CLAIMED: Final = """
SELECT t.id, t.document_id, t.owner, t.pipeline, t.mapping, t.options, t.duplicate_of, t.claim,
       t.attempt_count, d.upload_key, d.original_filename, d.content_type, d.bytes, d.sha256,
       t.long, d.source
  FROM moved t JOIN documents d ON d.id = t.document_id
 ORDER BY t.priority DESC, t.start_tag
"""
# A claim by itself makes of a job what `MOVED` makes of one that is taken, with a fourth of the
# columns: what a job begins and ends with is not there yet. A test holds the one against the other.
TAKING: Final = """
changing AS MATERIALIZED (
    SELECT every.id, every.owner, row_number() OVER () AS place FROM (
    SELECT id, owner FROM picked
"""
TAKEN: Final = """
moved AS (
    UPDATE jobs
       SET status = 'processing',
           updated_at = clock.changed_at - (clock.last - c.place) * interval '1 microsecond',
           started_at = now(), leased_by = %(worker)s::text, lease_expires_at = now() + %(lease)s,
           claim = jobs.claim + 1, attempt_count = jobs.attempt_count + 1, run_at = NULL
      FROM changing AS c JOIN clock USING (owner) WHERE jobs.id = c.id
    RETURNING jobs.id, jobs.document_id, jobs.owner, jobs.pipeline, jobs.mapping, jobs.options,
              jobs.duplicate_of, jobs.claim, jobs.attempt_count, jobs.priority, jobs.start_tag,
              jobs.long, jobs.tries_before + jobs.attempt_count AS tries, true AS takes,
              jobs.status AS goes, jobs.leased_by AS worker, %(gateways)s::jsonb AS gateways),
"""
TAKEN_TOLD: Final = """
told AS (
    INSERT INTO job_events (job_id, kind, worker, meta)
    SELECT id, goes, worker, jsonb_strip_nulls(jsonb_build_object(
               'from', 'queued', 'to', goes, 'attempt', tries, 'claim', claim,
               'gateway', gateways -> pipeline))
      FROM moved)
"""
# After `picked`: these jobs become ours, and their histories say so.
TAKE: Final = TAKING + CLOCK + TAKEN + TRIED + TAKEN_TOLD + CLAIMED


async def run_statement(
    conn: Connection, query: str, args: Mapping[str, Any], row_factory: AsyncRowFactory[Row]
) -> list[Row]:
    """Prepared. psycopg would look through a statement as long as these at each run."""
    text, names = _number_params(query)
    async with AsyncRawCursor(conn, row_factory=row_factory) as cur:
        await cur.execute(text, [args[name] for name in names], prepare=True)
        return await cur.fetchall()


@lru_cache(maxsize=16)
def _number_params(query: str) -> tuple[bytes, list[str]]:
    """With numbers for the names of parameters, and the names in the order of their numbers."""
    names: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        return f"${names.setdefault(found[1], len(names) + 1)}"

    text = re.sub(r"%%|%\((\w+)\)s", number, query)
    return text.encode(), list(names)
