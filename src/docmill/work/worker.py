"""The worker: claims jobs into free slots, keeps their leases, runs them and settles them."""

import asyncio
import random
import traceback
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import psycopg
import structlog

from docmill import __version__
from docmill.core import failpoints
from docmill.core.faults import Faulted
from docmill.core.jobs import Broke, Claimed, Ending, JobId, Retry, Stopped, Usage, settle
from docmill.db import leases, queue, signals, workers
from docmill.db.pool import OUTAGES, Pool
from docmill.db.signals import Bell
from docmill.work.identity import Identity
from docmill.work.progress import Reporter
from docmill.work.settler import Settler

log = structlog.get_logger()

Note = Callable[[int, str], None]
Runner = Callable[[Claimed, Note], Awaitable[tuple[Ending, Usage | None]]]
Run = asyncio.Future[tuple[Ending, Usage | None]]

# How long a stopping worker waits for its last endings to be written.
SETTLING: Final = 10
# How often jobs whose waiting time is over are looked for.
PROMOTING: Final = 0.2


@dataclass(frozen=True, slots=True)
class Rules:
    """What an operator can set about workers; `resting` names pipelines not to claim just now.

    `gateways` are the addresses of those that a gateway runs.
    """

    pipelines: Sequence[str]
    slots: int = 3
    lease: timedelta = timedelta(minutes=5)
    heartbeat: timedelta = timedelta(seconds=30)
    poll: timedelta = timedelta(seconds=5)
    grace: timedelta = timedelta(seconds=30)
    longest: timedelta = timedelta(hours=2)
    keep: timedelta | None = timedelta(days=30)
    retry: Retry = field(default_factory=Retry)
    retries: Mapping[str, Retry] = field(default_factory=dict[str, Retry])
    resting: Callable[[], Collection[str]] = frozenset[str]
    gateways: Mapping[str, str] = field(default_factory=dict[str, str])

    def claimable(self) -> dict[str, str | None]:
        resting = self.resting()
        return {name: self.gateways.get(name) for name in self.pipelines if name not in resting}

    def retry_of(self, pipeline: str) -> Retry:
        return self.retries.get(pipeline, self.retry)


@dataclass(frozen=True, slots=True)
class Links:
    """The worker's connections. `listen_url` is None behind a pooler: polling alone is enough."""

    pool: Pool
    listen_url: str | None
    changes: Bell


class Worker:
    """`run` works until `stop` is called; a second `stop` gives everything back at once."""

    def __init__(self, links: Links, rules: Rules, runner: Runner, identity: Identity) -> None:
        self._links: Links = links
        self._rules: Rules = rules
        self._runner: Runner = runner
        self._id: str = str(identity)
        self._row: workers.Worker = workers.Worker(
            self._id, identity.host, identity.machine, identity.pid, rules.slots,
            rules.pipelines, __version__,
        )  # fmt: skip
        self._settler: Settler = Settler(links.pool)
        self._running: dict[JobId, tuple[Claimed, Run]] = {}
        self._works: set[asyncio.Task[None]] = set()
        self._wake: asyncio.Event = asyncio.Event()
        self._stopping: asyncio.Event = asyncio.Event()
        self._hurry: asyncio.Event = asyncio.Event()
        self._uncertain: bool = False
        self._promote_at: float = 0.0

    @property
    def idle(self) -> bool:
        return not self._running

    def wake(self) -> None:
        self._wake.set()

    def stop(self) -> None:
        if self._stopping.is_set():
            self._hurry.set()
        self._stopping.set()
        self._wake.set()

    async def run(self) -> None:
        loops: list[Coroutine[None, None, None]] = [self._beat_loop(), self._listen_loop()]
        tasks = [asyncio.create_task(loop) for loop in loops]
        log.info("worker.started", worker=self._id, slots=self._rules.slots)
        try:
            await self._claim_loop()
            await self._wind_down()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._settler.close()
        with suppress(*OUTAGES):
            async with self._links.pool.connection() as conn:
                await workers.gone(conn, self._id)
        log.info("worker.stopped", worker=self._id)

    async def _claim_loop(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                timeout = await self._fill_slots()
            except (*OUTAGES, psycopg.errors.DeadlockDetected) as exc:
                log.warning("claim.waits", error=type(exc).__name__)
                self._uncertain, timeout = True, 1.0
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), timeout)

    async def _fill_slots(self) -> float:
        """Claim into the free slots; how long to wait for a wake-up before looking again."""
        poll = self._rules.poll.total_seconds()
        if self._uncertain:
            await self._adopt()
        while free := self._rules.slots - len(self._running):
            failpoints.hit("claim.before")
            await self._promote()
            async with self._links.pool.connection() as conn:
                claimed = await queue.claim(
                    conn, self._id, pipelines=self._rules.claimable(), slots=free,
                    lease=self._rules.lease,
                )  # fmt: skip
                due = None if claimed else await queue.next_due(conn)
            failpoints.hit("claim.after")
            if not claimed:
                return poll if due is None else min(poll, max(due, 0.05))
            self._begin(claimed)
        return poll

    async def _promote(self) -> None:
        """In a transaction of its own: it locks owners in order, and so does the claim after it."""
        now = asyncio.get_running_loop().time()
        if now < self._promote_at:
            return
        self._promote_at = now + PROMOTING
        async with self._links.pool.connection() as conn:
            await queue.promote(conn, 100)

    async def _adopt(self) -> None:
        """A claim whose COMMIT was not heard of may have happened: such jobs are ours to run."""
        async with self._links.pool.connection() as conn:
            held = await leases.held_by(conn, self._id)
        self._uncertain = False
        self._begin([job for job in held if job.id not in self._running])

    def _begin(self, claimed: Sequence[Claimed]) -> None:
        for job in claimed:
            reporter = Reporter(self._links.pool, job, lambda job=job: self._drop(job))
            run = asyncio.ensure_future(self._runner(job, reporter.note))
            self._running[job.id] = (job, run)
            self._keep(self._work(job, run, reporter))
            self._keep(reporter.run())
        if claimed:
            self._links.changes.ring()

    def _keep(self, work: Coroutine[None, None, None]) -> None:
        """The loop holds its tasks weakly; somebody has to hold them until they are done."""
        task = asyncio.create_task(work)
        self._works.add(task)
        task.add_done_callback(self._works.discard)

    async def _work(self, job: Claimed, run: Run, reporter: Reporter) -> None:
        """One run, from claim to settled; whatever happens, the slot is freed."""
        ending, usage = await _outcome(job, run)
        reporter.stop()
        try:
            await self._settle(job, ending, usage)
        except psycopg.Error as exc:
            # What the run wants written does not fit the tables: no lease has to run out for that.
            log.error("settle.refused", job=str(job.id), claim=job.claim, error=repr(exc))
            await self._settle(job, Broke("UNKNOWN", "its rows were refused", repr(exc)), usage)
        finally:
            self._running.pop(job.id, None)
            self._wake.set()

    async def _settle(self, job: Claimed, ending: Ending, usage: Usage | None) -> None:
        retry = self._rules.retry_of(job.pipeline)
        move = settle(job, ending, retry=retry, chance=random.random())  # noqa: S311
        ours = await self._settler.settle(queue.Settlement(job, move, usage, self._rules.keep))
        self._links.changes.ring()
        log.info(
            "job.settled" if ours else "job.lost",
            job=str(job.id), owner=job.owner, claim=job.claim, attempt=job.attempt_count,
            to=str(move.to), code=move.code, detail=move.detail or None,
            stack=move.stack or None, duration_ms=usage.duration_ms if usage else None,
        )  # fmt: skip

    async def _beat_loop(self) -> None:
        while True:
            with suppress(*OUTAGES):
                await self._beat()
            await asyncio.sleep(self._rules.heartbeat.total_seconds())

    async def _beat(self) -> None:
        failpoints.hit("beat.before")
        held = [job for job, _ in self._running.values()]
        async with self._links.pool.connection() as conn:
            await workers.seen(conn, self._row)
            ours = await leases.beat(conn, held, lease=self._rules.lease)
        for job in held:
            if job.id not in ours:
                self._drop(job)

    def _drop(self, job: Claimed) -> None:
        """Stop a run that is no longer ours. Settling is not cut short: the fence decides there."""
        held, run = self._running.get(job.id, (None, None))
        if run and held == job:
            run.cancel()

    async def _listen_loop(self) -> None:
        if self._links.listen_url is None:
            return
        channels = (signals.WORK, signals.CANCELLED)
        async for word in signals.heard(self._links.listen_url, *channels):
            if word is None or word.channel == signals.WORK:
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
        for _, run in self._running.values():
            run.cancel()
        await asyncio.wait({done}, timeout=SETTLING)


async def _outcome(job: Claimed, run: Run) -> tuple[Ending, Usage | None]:
    """How a run ended; the one place where a run's unforeseen exception becomes an ending."""
    try:
        return await run
    except asyncio.CancelledError:
        log.info("run.stopped", job=str(job.id), claim=job.claim)
        return Stopped(), None
    except Faulted as exc:
        return Broke(exc.fault.code, exc.detail), None
    except Exception as exc:  # noqa: BLE001
        return Broke("UNKNOWN", repr(exc), traceback.format_exc()), None
