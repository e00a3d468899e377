"""The worker: claims jobs into free slots, keeps their leases, runs them and settles them."""

import asyncio
import random
import traceback
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import psycopg
import structlog

from docmill import __version__
from docmill.core import failpoints
from docmill.core.faults import DocmillError
from docmill.core.jobs import (
    Broke,
    Claimed,
    Ending,
    JobId,
    ReportProgress,
    Retry,
    Stopped,
    Usage,
    settle,
)
from docmill.core.meters import Meter, measure_one
from docmill.core.owners import OwnerKey
from docmill.db import notify
from docmill.db.notify import Notifier
from docmill.db.pool import OUTAGES, Outage, Pool
from docmill.queue import claim, leases, shares
from docmill.queue import settle as queue_settle
from docmill.queue.claim import FreeSlots
from docmill.queue.lanes import Lanes
from docmill.queue.leases import Identity
from docmill.queue.progress import ProgressReporter, ReporterLinks
from docmill.queue.settle import Settler
from docmill.queue.shares import ShareLimits
from docmill.storage.contract import Store

log = structlog.get_logger()

Runner = Callable[[Claimed, ReportProgress], Awaitable[tuple[Ending, Usage | None]]]
Run = asyncio.Future[tuple[Ending, Usage | None]]

# How long a stopping worker waits for its last endings to be written.
SETTLING: Final = 10
# How often jobs whose waiting time is over are looked for.
PROMOTING: Final = 0.2
# How soon a sick database is tried again.
AGAIN: Final = 1.0


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """What an operator can set about workers; `resting` names pipelines not to claim just now.

    `keeps` are the pipelines whose results have a period of their own. `retries` are by pipeline
    or by source. `gateways` are the addresses of those that a gateway
    runs.
    """

    pipelines: Sequence[str]
    slots: int = 3
    lease: timedelta = timedelta(minutes=5)
    heartbeat: timedelta = timedelta(seconds=30)
    poll: timedelta = timedelta(seconds=5)
    grace: timedelta = timedelta(seconds=30)
    longest: timedelta = timedelta(hours=2)
    long_pages: int = 30
    long_after: timedelta = timedelta(seconds=10)
    keep: timedelta | None = timedelta(days=30)
    keeps: Mapping[str, timedelta | None] = field(default_factory=dict[str, timedelta | None])
    retry: Retry = field(default_factory=Retry)
    retries: Mapping[str, Retry] = field(default_factory=dict[str, Retry])
    resting: Callable[[], Collection[str]] = frozenset[str]
    gateways: Mapping[str, str] = field(default_factory=dict[str, str])
    shares: ShareLimits = field(default_factory=ShareLimits)

    def claimable(self) -> dict[str, str | None]:
        resting = self.resting()
        return {name: self.gateways.get(name) for name in self.pipelines if name not in resting}

    def retry_of(self, job: Claimed) -> Retry:
        """What the operator said of its pipeline, else what hangs on where it came from."""
        by_source = self.retries.get(job.source, self.retry)
        return self.retries.get(job.pipeline, by_source)


def make_lanes(rules: WorkerConfig) -> Lanes:
    return Lanes(rules.slots, long_pages=rules.long_pages, long_after=rules.long_after)


@dataclass(frozen=True, slots=True)
class WorkerLinks:
    """The worker's connections. Behind a pooler `listen_url` is Redis, or None: polling will do.

    `store` keeps results while the database can't be told of them.
    """

    pool: Pool
    listen_url: str | None
    changes: Notifier
    store: Store | None = None


class Worker:
    """`run` works until `stop` is called; a second `stop` gives everything back at once."""

    def __init__(
        self,
        links: WorkerLinks,
        rules: WorkerConfig,
        runner: Runner,
        identity: Identity,
        lanes: Lanes | None = None,
    ) -> None:
        """`lanes` where the runner tells them how long its documents are."""
        self._links: WorkerLinks = links
        self._rules: WorkerConfig = rules
        self._runner: Runner = runner
        self._id: str = str(identity)
        self._row: leases.WorkerRow = leases.WorkerRow(
            self._id, identity.host, identity.machine, identity.pid, rules.slots,
            rules.pipelines, __version__,
        )  # fmt: skip
        following = queue_settle.NextClaim(self._ask, self._begin, self._doubt)
        self._settler: Settler = Settler(links.pool, links.store, following)
        self._is_claiming: bool = False
        self._lanes: Lanes = lanes or make_lanes(rules)
        self._lanes.give_back = lambda job: self._keep(self._send_back(job))
        self._running: dict[JobId, tuple[Claimed, Run]] = {}
        self._settling: int = 0
        self._works: set[asyncio.Task[None]] = set()
        self._wake: asyncio.Event = asyncio.Event()
        self._stopping: asyncio.Event = asyncio.Event()
        self._hurry: asyncio.Event = asyncio.Event()
        # Jobs that an earlier worker of this name held are ours to run.
        self._uncertain: bool = True
        self._promote_at: float = 0.0

    @property
    def idle(self) -> bool:
        return not self._running

    def list_meters(self) -> list[Meter]:
        running = Meter(
            "worker_jobs_running", "Jobs that this worker runs now",
            measure_one(lambda: len(self._running)),
        )  # fmt: skip
        return [running, *self._settler.list_meters()]

    def wake(self) -> None:
        self._wake.set()

    def stop(self) -> None:
        if self._stopping.is_set():
            self._hurry.set()
        self._stopping.set()
        self._wake.set()

    async def run(self) -> None:
        """Raises when one of its loops breaks; its runs are ended then, and its jobs stay its."""
        loops = [self._claim_loop(), self._beat_loop()]
        if self._links.listen_url is not None:
            loops.append(self._listen_loop(self._links.listen_url))
        tasks = [asyncio.create_task(loop) for loop in loops]
        log.info("worker.started", worker=self._id, slots=self._rules.slots)
        try:
            # The first loop ends when we are asked to stop, the others by breaking alone.
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
            await self._wind_down()
        finally:
            await _cancel_all(tasks)
            await self._give_back()
            await self._settler.close()
        with suppress(psycopg.Error):
            async with self._links.pool.connection() as conn:
                await leases.delete_worker(conn, self._id)
        log.info("worker.stopped", worker=self._id)

    async def _claim_loop(self) -> None:
        outage = Outage("claim")
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                timeout = await self._fill_slots()
                outage.end()
            except psycopg.Error as exc:
                outage.begin(exc)
                self._uncertain, timeout = True, AGAIN
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):  # `wait_for` may swallow a cancellation
                    await self._wake.wait()

    async def _fill_slots(self) -> float:
        """Claim into the free slots; how long to wait for a wake-up before looking again."""
        poll = self._rules.poll.total_seconds()
        if self._uncertain:
            await self._adopt()
        while not self._stopping.is_set() and (room := self._lanes.room).slots:
            if self._settler.claims_soon and not self._is_shared:
                await self._promote()
                return poll  # the settled jobs wake us
            failpoints.hit("claim.before")
            self._is_claiming = True
            try:
                claimed, due = await self._claim(room)
            finally:
                self._is_claiming = False
            failpoints.hit("claim.after")
            self._begin(claimed)
            await asyncio.sleep(0)  # they start before the next statement is put together
            # Afterwards: who has just been told of a job does not wait for this.
            if not await self._promote() and not claimed:
                return poll if due is None else min(poll, max(due, 0.05))
        if self._stopping.is_set():
            return poll
        return min(poll, await self._fill_reserve() or poll)

    @property
    def _is_shared(self) -> bool:
        """Whether a claim has to look at what other workers run."""
        return self._rules.shares.concern(self._rules.claimable())

    def _ask(self) -> tuple[claim.Claimer, FreeSlots] | None:
        """What is to be claimed together with what is settled now."""
        room = self._lanes.room
        busy = self._is_claiming or self._uncertain or self._stopping.is_set()
        if busy or not room.slots or self._is_shared:
            return None
        failpoints.hit("claim.before")
        return claim.Claimer(self._id, self._rules.claimable(), self._rules.lease), room

    def _doubt(self) -> None:
        self._uncertain = True
        self._wake.set()

    async def _claim(self, room: FreeSlots) -> tuple[list[Claimed], float | None]:
        """What was claimed; where nothing was, the seconds until a job is due."""
        rules = self._rules
        pipelines = rules.claimable()
        shared = rules.shares.concern(pipelines)
        connect = self._links.pool.connection if shared else self._links.pool.statements
        async with connect() as conn:
            if shared:
                taker = claim.Claimer(self._id, pipelines, rules.lease)
                claimed = await shares.claim_within(conn, taker, room=room, limits=rules.shares)
            else:
                claimed = await claim.claim(
                    conn, self._id, pipelines=pipelines, slots=room, lease=rules.lease
                )
            return claimed, None if claimed else await claim.seconds_until_due(conn)

    async def _claim_other(
        self, taker: claim.Claimer, owners: Collection[OwnerKey]
    ) -> list[Claimed]:
        limits = self._rules.shares
        async with self._links.pool.connection() as conn:
            if limits.concern(taker.pipelines):
                room = FreeSlots(1, 0)
                return await shares.claim_within(
                    conn, taker, room=room, limits=limits, besides=owners
                )
            other = await claim.claim_other(conn, taker, owners)
        return [other] if other else []

    async def _fill_reserve(self) -> float:
        """All slots are taken and stay so: one more runs if its owner has nothing running here.

        How long to wait before the reserve opens, if that is the reason why nothing was claimed.
        """
        wait = self._lanes.reserve_opens_in
        if wait:
            return wait
        owners, pipelines = self._lanes.owners, self._rules.claimable()
        if wait is None:
            await self._make_way(pipelines, owners)
            return 0.0
        taker = claim.Claimer(self._id, pipelines, self._rules.lease)
        self._begin(await self._claim_other(taker, owners))
        return 0.0

    async def _make_way(self, pipelines: claim.Pipelines, owners: Collection[OwnerKey]) -> None:
        """The reserve is taken as well: of too many long runs one goes back if others wait."""
        job = self._lanes.overdue()
        # A gateway would start again from the beginning.
        if job is None or job.pipeline in self._rules.gateways:
            return
        async with self._links.pool.connection() as conn:
            wanted = await claim.others_wait(conn, pipelines, owners)
        if wanted:
            await self._send_back(job)

    async def _send_back(self, job: Claimed) -> None:
        """Back to the queue unharmed, into the lane of long documents; read pages are kept."""
        with suppress(*OUTAGES):
            async with self._links.pool.connection() as conn:
                await claim.mark_long(conn, job)
            log.info("job.gave_way", job=str(job.id), owner=job.owner, claim=job.claim)
            self._drop(job)

    async def _promote(self) -> bool:
        """Whether a job may have become ready.

        In transactions of their own: each locks owners in order, and so does a claim.
        """
        now = asyncio.get_running_loop().time()
        if now < self._promote_at:
            return False
        self._promote_at = now + PROMOTING
        async with self._links.pool.statements() as conn:
            released = await claim.release(conn, 100)
            promoted = await claim.promote(conn, 100)
        for job_id, status in released.items():
            log.info("job.released", job=str(job_id), to=str(status))
        if released:
            self._links.changes.ring()
        return bool(released or promoted)

    async def _adopt(self) -> None:
        """A claim whose COMMIT was not heard of may have happened: such jobs are ours to run."""
        async with self._links.pool.connection() as conn:
            held = await leases.find_held(conn, self._id)
        self._uncertain = False
        self._begin([job for job in held if job.id not in self._running])

    def _begin(self, claimed: Sequence[Claimed]) -> None:
        for job in claimed:
            if self._holds(job):  # it was adopted meanwhile
                continue
            log.info(
                "job.claimed", job=str(job.id), owner=job.owner, claim=job.claim,
                pipeline=job.pipeline, worker=self._id,
            )  # fmt: skip
            reporter = self._make_reporter(job)
            run = asyncio.ensure_future(self._runner(job, reporter.note))
            self._running[job.id] = (job, run)
            self._lanes.enter(job)
            self._keep(self._work(job, run, reporter))
        if claimed:
            self._links.changes.ring()

    def _holds(self, job: Claimed) -> bool:
        held, _ = self._running.get(job.id, (None, None))
        return held is not None and held.claim == job.claim

    def _make_reporter(self, job: Claimed) -> ProgressReporter:
        links = ReporterLinks(self._keep, lambda: self._drop(job), self._links.changes.ring)
        return ProgressReporter(self._links.pool, job, links)

    def _keep(self, work: Coroutine[None, None, None]) -> None:
        """The loop holds its tasks weakly; somebody has to hold them until they are done."""
        task = asyncio.create_task(work)
        self._works.add(task)
        task.add_done_callback(self._let_go)

    def _let_go(self, task: asyncio.Task[None]) -> None:
        """Nothing ends silently, though nobody waits for it."""
        self._works.discard(task)
        if not task.cancelled() and (exc := task.exception()):
            stack = "".join(traceback.format_exception(exc))
            log.error("worker.work_broke", error=type(exc).__name__, stack=stack)

    async def _work(self, job: Claimed, run: Run, reporter: ProgressReporter) -> None:
        """One run, from claim to settled; whatever happens, the slot is freed.

        It is freed when the run ends: the next may begin while the ending is written. Of those
        that wait to be written there are as many as slots at most.
        """
        ending, usage = await _await_ending(job, run)
        reporter.stop()
        self._settling += 1
        if self._settling <= self._rules.slots:
            self._lanes.leave(job)
            self._wake.set()
        try:
            await self._settle(job, ending, usage)
        except psycopg.Error as exc:
            # What the run wants written does not fit the tables: no lease has to run out for that.
            log.error("settle.refused", job=str(job.id), claim=job.claim, error=repr(exc))
            with suppress(psycopg.Error):  # the lease decides
                await self._settle(job, Broke("UNKNOWN", "its rows were refused", repr(exc)), usage)
        finally:
            self._settling -= 1
            if self._running.get(job.id) == (job, run):  # not a later claim of it
                del self._running[job.id]
            self._lanes.leave(job)
            self._wake.set()

    async def _settle(self, job: Claimed, ending: Ending, usage: Usage | None) -> None:
        retry = self._rules.retry_of(job)
        move = settle(job, ending, retry=retry, chance=random.random())  # noqa: S311
        keep = self._rules.keeps.get(job.pipeline, self._rules.keep)
        ours = await self._settler.settle(queue_settle.Settlement(job, move, usage, keep))
        self._links.changes.ring()
        log.info(
            "job.settled" if ours else "job.lost",
            job=str(job.id), owner=job.owner, claim=job.claim, attempt=job.attempt_count,
            to=str(move.to), code=move.code, detail=move.detail or None,
            stack=move.stack or None, duration_ms=usage.duration_ms if usage else None,
        )  # fmt: skip

    async def _beat_loop(self) -> None:
        outage = Outage("beat")
        while True:
            pause = self._rules.heartbeat.total_seconds()
            try:
                await self._beat()
                outage.end()
            except psycopg.Error as exc:
                outage.begin(exc)
                pause = min(pause, AGAIN)
            await asyncio.sleep(pause)

    async def _beat(self) -> None:
        failpoints.hit("beat.before")
        held = [job for job, _ in self._running.values()]
        async with self._links.pool.connection() as conn:
            await leases.record_worker(conn, self._row)
            ours = await leases.extend_leases(conn, held, lease=self._rules.lease)
        for job in held:
            if job.id not in ours:
                self._drop(job)

    def _drop(self, job: Claimed) -> None:
        """Stop a run that is no longer ours. Settling is not cut short: the fence decides there."""
        held, run = self._running.get(job.id, (None, None))
        if run and held == job:
            run.cancel()

    async def _listen_loop(self, url: str) -> None:
        async for word in notify.listen(url, notify.WORK, notify.CANCELLED):
            if word is None or word.channel == notify.WORK:
                self._wake.set()
            else:
                self._hear_cancelled(word.payload)

    def _hear_cancelled(self, job_id: str) -> None:
        for job, _ in list(self._running.values()):
            if str(job.id) == job_id:
                self._drop(job)

    async def _wind_down(self) -> None:
        """Finish what runs within the grace period, give back the rest."""
        if not self._works:
            return
        log.info("worker.stopping", worker=self._id, running=len(self._running))
        hurry = asyncio.create_task(self._hurry.wait())
        done = asyncio.create_task(asyncio.wait(set(self._works)))
        grace = self._rules.grace.total_seconds()
        await asyncio.wait({hurry, done}, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        done.cancel()
        await self._give_back()

    async def _give_back(self) -> None:
        """End what still runs and write that down; without a database the lease decides."""
        for _, run in self._running.values():
            run.cancel()
        if self._works:
            await asyncio.wait(set(self._works), timeout=SETTLING)
        await _cancel_all(list(self._works))


async def _cancel_all(tasks: Sequence[asyncio.Future[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _await_ending(job: Claimed, run: Run) -> tuple[Ending, Usage | None]:
    """How a run ended; the one place where a run's unforeseen exception becomes an ending."""
    try:
        return await run
    except asyncio.CancelledError:
        log.info("run.stopped", job=str(job.id), claim=job.claim)
        return Stopped(), None
    except DocmillError as exc:
        return Broke(exc.fault.code, exc.detail, reason=exc.reason), None
    except OUTAGES as exc:  # no fault of the document: it is tried again when this is over
        return Broke("DATABASE_DOWN", type(exc).__name__), None
    except Exception as exc:  # noqa: BLE001
        return Broke("UNKNOWN", repr(exc), traceback.format_exc()), None
