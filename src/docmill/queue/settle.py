"""Writes endings: those that come together go in one statement; an outage is waited out."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import psycopg
import structlog
from psycopg.rows import tuple_row

from docmill.core import failpoints
from docmill.core.jobs import About, Claimed, JobId, Move, Status, StoredResult, Usage
from docmill.core.meters import Meter, measure_one
from docmill.core.texts import make_storable
from docmill.db.pool import Connection, Outage, Pool
from docmill.queue import rows, spool
from docmill.queue.binding import bind_moves
from docmill.queue.claim import NEXT, Claimer, FreeSlots
from docmill.queue.moves import CHANGING, CLOCK, ENDS, MOVED, TAKES, TOLD, TRIED, run_statement
from docmill.queue.spool import KeptEnding
from docmill.storage.contract import Store

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Settlement:
    """A decision on one claimed job, ready to be written."""

    job: Claimed
    move: Move
    usage: Usage | None = None
    keep: timedelta | None = None


Waiting = tuple[Settlement, asyncio.Future[bool]]
# What will be refused at every try: it does not fit the tables, or is larger than they take.
REFUSALS = (
    psycopg.IntegrityError,
    psycopg.DataError,
    psycopg.ProgrammingError,
    psycopg.NotSupportedError,
    psycopg.errors.ProgramLimitExceeded,
)
FIRST_WAIT: Final = 0.2
# So many endings are worth a second statement beside the one that is under way.
WORTH_A_STATEMENT: Final = 5
TELL_SECONDS: Final = 60.0
NO_SLOTS: Final = FreeSlots(0, 0)


@dataclass(frozen=True, slots=True)
class NextClaim:
    """What a worker claims in the statement that settles.

    `ask` gives who takes how many now, or None; `doubt` is called where it is not known whether a
    claim happened.
    """

    ask: Callable[[], tuple[Claimer, FreeSlots] | None]
    begin: Callable[[Sequence[Claimed]], None]
    doubt: Callable[[], None]


class Settler:
    """`settle` returns when the ending is written: True if the job was still ours.

    Where many wait, two statements are under way in turn: PostgreSQL works on the one while the
    answer to the other is worked on here.
    """

    def __init__(
        self, pool: Pool, store: Store | None = None, next_claim: NextClaim | None = None
    ) -> None:
        """`store` is where results are kept that the database can't be told of."""
        self._pool: Pool = pool
        self._store: Store | None = store
        self._next: NextClaim | None = next_claim
        self._claims: list[FreeSlots] = []  # what the statements under way may claim
        self._under_way: int = 0
        self._kept: set[JobId] = set()
        self._unsettled: int = 0
        self._unsettled_since: float | None = None
        self._tell_at: float = 0.0
        self._pending: list[Waiting] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._outage: Outage = Outage("settle")

    def list_meters(self) -> list[Meter]:
        return [
            Meter(
                "results_unsettled", "Endings of jobs that the database could not be told yet",
                measure_one(lambda: self._unsettled),
            ),
            Meter(
                "results_unsettled_seconds", "Since when the database could not be told of any",
                measure_one(self._measure_wait),
            ),
        ]  # fmt: skip

    @property
    def claims_soon(self) -> bool:
        """Whether what it writes now or next fills the free slots, or has looked at them."""
        if self._outage.lasts:
            return False
        waiting = [one for one, _ in self._pending]
        return bool(self._claims) or (bool(waiting) and _are_bare(waiting))

    def _measure_wait(self) -> float:
        since = self._unsettled_since
        return 0.0 if since is None else time.monotonic() - since

    async def settle(self, settlement: Settlement) -> bool:
        written: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._pending.append((settlement, written))
        self._start()
        return await written

    def _start(self) -> None:
        """One more loop, where none works, or one does and enough for another wait."""
        working = self._count_loops()
        if working == 1 and not self._outage.lasts:
            is_wanted = len(self._pending) >= WORTH_A_STATEMENT
        else:
            is_wanted = not working
        if is_wanted:
            task = asyncio.create_task(self._run())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _count_loops(self) -> int:
        return sum(not task.done() for task in self._tasks)

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        wait, alone = FIRST_WAIT, False
        while self._pending:
            batch = self._take_batch()
            self._under_way += 1
            try:
                await self._settle_all(batch, alone=alone)
                self._outage.end()
                self._unsettled, self._unsettled_since = 0, None
                wait, alone = FIRST_WAIT, False
            except psycopg.Error as exc:
                self._outage.begin(exc)
                await self._keep_endings([item for item, written in batch if not written.done()])
                # One of them may be what the database chokes on: the others go without it.
                alone = len(batch) > 1 or alone
                left = [item for item in batch if not item[1].done()]
                self._pending = [*left[1:], *self._pending, *left[:1]]
                if self._count_loops() > 1:  # the other goes on with them
                    return
                await asyncio.sleep(wait)
                wait = min(wait * 2, 5)
            finally:
                self._under_way -= 1

    def _take_batch(self) -> list[Waiting]:
        """All that wait, or half of them, so that the other half is on its way at the same time."""
        most = len(self._pending)
        if most >= 2 * WORTH_A_STATEMENT and not self._under_way and not self._outage.lasts:
            most = (most + 1) // 2
        batch, self._pending = self._pending[:most], self._pending[most:]
        if self._pending:
            self._start()
        return batch

    async def _keep_endings(self, waiting: Sequence[Settlement]) -> None:
        """Once each. While it lasts, a line a minute tells how many wait and since when."""
        now = time.monotonic()
        since = self._unsettled_since = self._unsettled_since or now
        self._unsettled = len(waiting) + len(self._pending)
        if now >= self._tell_at:
            self._tell_at = now + TELL_SECONDS
            log.error("results.unsettled", count=len(waiting), seconds=round(now - since))
        for one in waiting:
            if self._store and one.move.result and one.job.id not in self._kept:
                ending = KeptEnding(_as_row(one), dict(one.move.rows))
                if await spool.keep_ending(self._store, one.job, ending):
                    self._kept.add(one.job.id)

    async def _forget_endings(self, settled: Sequence[Settlement]) -> None:
        for one in settled:
            if self._store and one.job.id in self._kept:
                self._kept.discard(one.job.id)
                await spool.forget_ending(self._store, one.job)

    async def _settle_all(self, batch: list[Waiting], *, alone: bool = False) -> None:
        """One ending the database refuses must not hold up the others: then each goes alone."""
        if alone and len(batch) > 1:
            for item in batch:
                await self._settle_all([item], alone=True)
            return
        try:
            moved, claimed = await self._write([one for one, _ in batch], alone=alone)
        except REFUSALS as exc:
            if len(batch) > 1:
                await self._settle_all(batch, alone=True)
            elif not batch[0][1].done():
                batch[0][1].set_exception(exc)
            return
        for settlement, written in batch:
            if not written.done():
                written.set_result(settlement.job.id in moved)
        self._begin(claimed)  # after those that ended, which leave their slots first
        await self._forget_endings([settlement for settlement, _ in batch])

    def _begin(self, claimed: Sequence[Claimed]) -> None:
        if self._next and claimed:
            self._next.begin(claimed)

    async def _write(
        self, settlements: list[Settlement], *, alone: bool
    ) -> tuple[set[JobId], list[Claimed]]:
        """The next jobs are claimed with it, unless endings go one by one or have rows.

        Rows take their time, and who is claimed for must not wait for another owner's rows.
        """
        failpoints.hit("settle.before")
        if _are_bare(settlements):
            written = await self._exchange(settlements, alone=alone)
        else:
            written = await self._write_with_rows(settlements), list[Claimed]()
        failpoints.hit("settle.after")
        return written

    async def _write_with_rows(self, settlements: list[Settlement]) -> set[JobId]:
        """The rows of an ending are written with it or not at all."""
        async with self._pool.connection() as conn:
            moved = await write_settlements(conn, settlements)
            for done in settlements:
                if done.job.id in moved and done.move.rows:
                    await rows.write_rows(conn, done.job, done.move.rows)
        return moved

    async def _exchange(
        self, settlements: list[Settlement], *, alone: bool
    ) -> tuple[set[JobId], list[Claimed]]:
        order = None if alone else self._ask(len(settlements))
        room = order[1] if order else NO_SLOTS
        self._claims.append(room)
        try:
            async with self._pool.statements() as conn:
                if order:
                    return await exchange(conn, settlements, *order)
                return await write_settlements(conn, settlements), []
        except psycopg.Error:
            if self._next and order:
                self._next.doubt()
            raise
        finally:
            self._claims.remove(room)

    def _ask(self, settling: int) -> tuple[Claimer, FreeSlots] | None:
        """What may be claimed now, with so many endings.

        Some of the free slots are for a statement under way, or for one that is about to be: each
        fills as many as it settles, and what is left.
        """
        order = self._next.ask() if self._next else None
        if order is None:
            return None
        taker, room = order
        free = room.slots - sum(claim.slots for claim in self._claims)
        slots = min(free, max(settling, free - len(self._pending)))
        long_slots = room.long_slots - sum(claim.args["long_slots"] for claim in self._claims)
        return (taker, FreeSlots(slots, max(0, long_slots))) if slots > 0 else None


def _are_bare(settlements: Iterable[Settlement]) -> bool:
    return not any(one.move.rows for one in settlements)


# The fence: a row moves only while it is processing under the claim we hold. The status is looked
# at after the row is locked, and in the CTE, so that the planner goes by primary key. What is given
# comes as arrays, one for each column: JSON costs PostgreSQL four times as much to read. Through a
# subquery, so that it counts with ten jobs, and does not read a small table instead.
ENDED: Final = """
given AS MATERIALIZED (
    SELECT g.*
      FROM (SELECT %(ids)s::uuid[] AS ids, %(claims)s::int[] AS claims, %(goes)s::text[] AS goes,
                   %(outcomes)s::text[] AS outcomes, %(codes)s::text[] AS codes,
                   %(keeps)s::interval[] AS keeps, %(keys)s::text[] AS keys,
                   %(durations)s::int[] AS durations, %(cpus)s::int[] AS cpus,
                   %(memories)s::bigint[] AS memories, %(metas)s::jsonb AS metas,
                   %(rests)s::jsonb AS rests OFFSET 0) AS a
     CROSS JOIN LATERAL ROWS FROM (
           unnest(a.ids, a.claims, a.goes, a.outcomes, a.codes, a.keeps, a.keys, a.durations,
                  a.cpus, a.memories),
           jsonb_array_elements(a.metas), jsonb_array_elements(a.rests)) AS g(
           id, claim, goes, outcome, code, keep, result_key, duration_ms, cpu_ms, memory_bytes,
           meta, rest)),
locked AS MATERIALIZED (
    SELECT jobs.id, jobs.claim, jobs.owner, jobs.status, jobs.leased_by
      FROM unnest((SELECT %(ids)s::uuid[])) AS wanted(id) JOIN jobs ON jobs.id = wanted.id
     ORDER BY jobs.id FOR UPDATE OF jobs),
mine AS MATERIALIZED (
    SELECT given.*, locked.leased_by, locked.owner
      FROM given JOIN locked USING (id, claim)
     WHERE locked.status = 'processing'),
"""
# `IS TRUE` keeps PostgreSQL from joining: it would look through all that ended for each result.
WRITTEN: Final = """
saved AS (
    INSERT INTO results (job_id, claim, form, key, content_type, bytes, stored_bytes, sha256,
                         version, docmill, mapping)
    SELECT r.*
      FROM (SELECT %(result_ids)s::uuid[] AS ids, %(result_claims)s::int[] AS claims,
                   %(forms)s::text[] AS forms, %(result_keys)s::text[] AS keys,
                   %(content_types)s::text[] AS content_types, %(sizes)s::bigint[] AS sizes,
                   %(stored_sizes)s::bigint[] AS stored_sizes, %(sha256s)s::text[] AS sha256s,
                   %(versions)s::text[] AS versions, %(docmills)s::text[] AS docmills,
                   %(mappings)s::text[] AS mappings OFFSET 0) AS a
     CROSS JOIN LATERAL unnest(a.ids, a.claims, a.forms, a.keys, a.content_types, a.sizes,
                               a.stored_sizes, a.sha256s, a.versions, a.docmills, a.mappings) AS r(
           id, claim, form, key, content_type, bytes, stored_bytes, sha256, version, docmill,
           mapping)
     WHERE (r.id IN (SELECT id FROM mine)) IS TRUE),
ended AS (
    UPDATE job_attempts a
       SET ended_at = now(), outcome = mine.outcome, error_code = mine.code,
           error_message = mine.rest ->> 'detail', reason = mine.rest ->> 'reason',
           stack = mine.rest ->> 'stack',
           cpu_ms = mine.cpu_ms, memory_bytes = mine.memory_bytes,
           calls = CASE WHEN mine.duration_ms IS NOT NULL
                        THEN coalesce(jsonb_array_length(mine.rest #> '{call,asked}'), 0)
                           + coalesce(mine.rest -> 'call' ? 'gateway'
                                      AND (mine.rest #>> '{call,http_status}' IS NOT NULL
                                           OR mine.code LIKE 'GW_%%'), false)::int END,
           duration_ms = coalesce(mine.duration_ms,
                                  extract(epoch FROM clock_timestamp() - a.started_at) * 1000)
      FROM mine WHERE a.job_id = mine.id AND a.claim = mine.claim),
forgotten AS (
    DELETE FROM answers USING mine WHERE answers.job_id = mine.id AND mine.goes <> 'queued'),
done AS (
    DELETE FROM steps USING mine WHERE steps.job_id = mine.id AND mine.goes = 'complete'),
"""
MOVED_ALONE: Final = "SELECT id FROM moved"
SETTLE: Final = "WITH" + ENDED + CHANGING + ENDS + CLOCK + MOVED + WRITTEN + TOLD + MOVED_ALONE


async def write_settlements(conn: Connection, settlements: Sequence[Settlement]) -> set[JobId]:
    """Write what was decided; the jobs that moved. The others belong to somebody else by now."""
    return await _write_moves(conn, [_as_row(settlement) for settlement in settlements])


# Both at once: what has ended is settled, and the next jobs are taken, with one COMMIT. Jobs that
# ended are locked first, because that may wait for others; a claim waits for nobody.
FREE_AFTERWARDS: Final = """
free AS MATERIALIZED (
    SELECT %(slots)s::int AS slots, %(long_slots)s::int AS long_slots
      FROM (SELECT count(*) FROM locked) AS those),
"""
MOVED_AND_CLAIMED: Final = """
SELECT ended.id, t.id, t.document_id, t.owner, t.pipeline, t.mapping, t.options, t.duplicate_of,
       t.claim, t.attempt_count, d.upload_key, d.original_filename, d.content_type, d.bytes,
       d.sha256, t.long, d.source
  FROM (SELECT id FROM moved WHERE NOT takes) AS ended
  FULL JOIN (moved t JOIN documents d ON d.id = t.document_id AND t.takes) ON false
 ORDER BY t.priority DESC, t.start_tag
"""
EXCHANGE: Final = (
    "WITH"
    + ENDED
    + FREE_AFTERWARDS
    + NEXT
    + CHANGING
    + ENDS
    + "UNION ALL"
    + TAKES
    + CLOCK
    + MOVED
    + WRITTEN
    + TRIED
    + TOLD
    + MOVED_AND_CLAIMED
)


async def exchange(
    conn: Connection, settlements: Sequence[Settlement], taker: Claimer, room: FreeSlots
) -> tuple[set[JobId], list[Claimed]]:
    """Settle these and claim into the free slots: the jobs that moved, and those that are ours."""
    args = bind_moves([_as_row(one) for one in settlements]) | taker.args | room.args
    rows = await run_statement(conn, EXCHANGE, args, tuple_row)
    claimed = [Claimed(*row[1:]) for row in rows if row[0] is None]
    return {row[0] for row in rows if row[0] is not None}, claimed


async def write_kept_ending(conn: Connection, job: Claimed, ending: KeptEnding) -> bool:
    """The same for one that its own worker did not come to write."""
    attempt = job.attempt_count - bool(ending.move.get("refund"))  # older ones don't say
    moved = await _write_moves(conn, [{"attempt": attempt, **ending.move}])
    if moved and ending.rows:
        await rows.write_rows(conn, job, ending.rows)
    return bool(moved)


async def _write_moves(conn: Connection, moves: Sequence[Mapping[str, Any]]) -> set[JobId]:
    moved = await run_statement(conn, SETTLE, bind_moves(moves), tuple_row)
    return {row[0] for row in moved}


def _as_row(given: Settlement) -> dict[str, Any]:
    move = given.move
    row: dict[str, Any] = {
        "id": str(given.job.id),
        "claim": given.job.claim,
        "attempt": given.job.attempt_count - move.refund,
        "goes": move.to,
        "outcome": move.outcome,
        "code": move.code,
        "message": move.message,
        "detail": make_storable(move.detail) or None,
        "stack": make_storable(move.stack) or None,
        "delay": _as_interval(move.delay),
        "refund": move.refund,
        "reason": make_storable(move.reason or "") or None,
        "keep": _as_interval(given.keep),
    }
    if usage := given.usage:
        row |= {
            "duration_ms": usage.duration_ms,
            "cpu_ms": usage.cpu_ms,
            "memory_bytes": usage.memory_bytes,
            "call": dict(usage.call) or None,
        }
    row |= _about_row(move.about)
    if move.result:
        key = "result_key" if move.to is Status.COMPLETE else "reading_key"
        row[key] = (move.document or move.result).key
        row["results"] = [_result_row("data", move.result)]
    if move.document:
        row["results"].append(_result_row("document", move.document))
    return row


def _about_row(about: About) -> dict[str, Any]:
    row: dict[str, Any] = {"summary": about.summary}
    if about.pipeline:
        row["read_as"] = {
            "pipeline": about.pipeline,
            "mapping": about.mapping,
            "decision": about.decision,
        }
    return row


def _result_row(form: str, result: StoredResult) -> dict[str, Any]:
    return {
        "form": form,
        "key": result.key,
        "content_type": result.content_type,
        "bytes": result.bytes,
        "stored_bytes": result.stored_bytes,
        "sha256": result.sha256,
        "version": result.version,
        "docmill": result.docmill,
        "mapping": result.mapping,
    }


def _as_interval(span: timedelta | None) -> str | None:
    return None if span is None else f"{span.total_seconds():.6f} seconds"
