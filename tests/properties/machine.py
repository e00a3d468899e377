"""Everything that can happen to jobs, in any order, over the real SQL.

Hypothesis repeats a life to make it shorter, so a life must go the same way each time: what a race
may decide either way is checked and then put out of sight.
"""

import asyncio
from datetime import timedelta
from typing import Final
from uuid import uuid4

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from docmill.core.faults import FAULTS
from docmill.core.jobs import (
    ACTIVE,
    Broke,
    Claimed,
    DocumentId,
    JobId,
    LeaseLost,
    Status,
    Stopped,
)
from docmill.core.owners import OwnerKey
from docmill.core.retention import DueWhen
from docmill.db.pool import Connection, Pool
from docmill.jobs import queries, results, sweep
from docmill.queue import claim, leases
from docmill.queue import enqueue as queue
from docmill.queue.progress import Progress, record_progress
from properties.model import Expected, Row, check, rows
from properties.rig import Act, Do, rescue, write
from road import a_result, add_job, the

WORKERS: Final = ("w1", "w2", "w3")
LEASE: Final = timedelta(minutes=5)
PICK: Final = st.integers(0, 50)
CODES: Final = st.sampled_from(sorted(FAULTS))

LOSE: Final = "UPDATE jobs SET lease_expires_at = now() - interval '1 second' WHERE id = %s"
DUE: Final = "UPDATE jobs SET run_at = now() - interval '1 second' WHERE id = %s"
CLEAR: Final = "DELETE FROM jobs WHERE pipeline = %s"


PAST: Final = "UPDATE documents SET expires_at = now() - interval '1 day' WHERE id = %s"


async def expire_upload(conn: Connection, document_id: DocumentId) -> None:
    await conn.execute(PAST, (document_id,))
    await sweep.expire_uploads(conn, DueWhen())


class Jobs(RuleBasedStateMachine):
    """Each life has a pipeline of its own, so that it meets nobody else's jobs."""

    races: bool = True

    def __init__(self, runner: asyncio.Runner, pool: Pool) -> None:
        super().__init__()
        self.do: Do = Do(runner, pool)
        self.pipeline: str = uuid4().hex
        self.jobs: dict[JobId, Expected] = {}
        self.new: dict[JobId, queue.NewJob] = {}
        self.held: dict[JobId, Claimed] = {}
        self.stale: list[Claimed] = []

    def teardown(self) -> None:
        self.do(lambda conn: conn.execute(CLEAR, (self.pipeline,)))

    def rows(self) -> dict[JobId, Row]:
        return self.do(lambda conn: rows(conn, self.pipeline))

    def any(self, pick: int, *statuses: Status) -> JobId:
        found = [i for i, job in self.jobs.items() if not statuses or job.status in statuses]
        return found[pick % len(found)]

    def has(self, *statuses: Status) -> bool:
        return any(job.status in statuses for job in self.jobs.values())

    def holder(self, pick: int) -> tuple[Claimed, Expected]:
        job_id = self.any(pick, Status.PROCESSING)
        return self.held[job_id], self.jobs[job_id]

    def let_go(self, job_id: JobId) -> None:
        """Whoever holds the job is stale from now on, and does not know."""
        if job_id in self.held:
            self.stale.append(self.held.pop(job_id))

    def take(self, worker: str, claimed: list[Claimed]) -> None:
        for job in claimed:
            assert job.id not in self.held, "two workers on one job"
            self.jobs[job.id].claimed(worker)
            assert job.claim == self.jobs[job.id].claim
            self.held[job.id] = job

    def claim(self, worker: str, slots: int) -> Act[list[Claimed]]:
        return lambda conn: claim.claim(
            conn, worker, pipelines=[self.pipeline], slots=slots, lease=LEASE
        )

    @rule(owner=st.sampled_from("ab"), priority=st.sampled_from([0, 10]), enqueue=st.booleans())
    def add(self, owner: str, priority: int, enqueue: bool) -> None:
        key = OwnerKey(f"session:{self.pipeline}{owner}")
        given = {"pipeline": self.pipeline, "priority": priority, "enqueue": enqueue}
        job_id = self.do(lambda conn: add_job(conn, key, **given))
        self.jobs[job_id] = Expected(Status.QUEUED if enqueue else Status.UPLOADED)
        document_id = self.do(lambda conn: the(conn, job_id)).document_id
        self.new[job_id] = queue.NewJob(
            job_id, document_id, key, self.pipeline, None, {}, priority, None
        )

    @initialize(count=st.integers(1, 3), worker=st.sampled_from(WORKERS))
    def begin_in_the_middle(self, count: int, worker: str) -> None:
        """Otherwise most lives end before anything can happen twice to one job."""
        for _ in range(count):
            self.add("a", 0, enqueue=True)
        self.claim_in_order(worker, 1)

    @precondition(lambda self: self.jobs)
    @rule(pick=PICK)
    def enqueue(self, pick: int) -> None:
        """Of any job: only an uploaded one moves."""
        job_id = self.any(pick)
        self.do(lambda conn: queue.enqueue(conn, self.new[job_id]))
        if self.jobs[job_id].status is Status.UPLOADED:
            self.jobs[job_id].status = Status.QUEUED

    @precondition(lambda self: self.has(Status.QUEUED))
    @rule(worker=st.sampled_from(WORKERS), slots=st.integers(1, 3))
    def claim_in_order(self, worker: str, slots: int) -> None:
        """Highest priority first, then the fair order; of equals any may be first, so all come."""
        ready = [r for r in self.rows().values() if r["status"] == "queued" and not r["waiting"]]
        order = sorted((-row["priority"], row["start_tag"]) for row in ready)
        while slots < len(order) and order[slots] == order[slots - 1]:
            slots += 1
        claimed = self.do(self.claim(worker, slots))
        places = {row["id"]: (-row["priority"], row["start_tag"]) for row in ready}
        assert [places[job.id] for job in claimed] == order[:slots]
        self.take(worker, claimed)

    @precondition(lambda self: self.has(Status.QUEUED))
    @rule(slots=st.integers(1, 2))
    def claim_at_the_same_time(self, slots: int) -> None:
        claimed = self.do.together(*(self.claim(worker, slots) for worker in WORKERS))
        for worker, mine in zip(WORKERS, claimed, strict=True):
            self.take(worker, mine)
        for job in (job for mine in claimed for job in mine):
            assert self.do(lambda conn, job=job: write(conn, job, Stopped()))
            self.jobs[job.id].stopped()
            del self.held[job.id]

    @precondition(lambda self: self.held)
    @rule(pick=PICK)
    def beat(self, pick: int) -> None:
        held, _ = self.holder(pick)
        assert self.do(lambda conn: leases.extend_leases(conn, [held], lease=LEASE)) == {held.id}

    @precondition(lambda self: self.held)
    @rule(pick=PICK, percent=st.integers(0, 100), milestone=st.booleans())
    def progress(self, pick: int, percent: int, milestone: bool) -> None:
        held, job = self.holder(pick)
        progress = Progress(percent, "a stage", milestone)
        assert self.do(lambda conn: record_progress(conn, held, progress))
        job.noted(percent)

    @precondition(lambda self: self.held)
    @rule(pick=PICK)
    def finish(self, pick: int) -> None:
        held, job = self.holder(pick)
        assert self.do(lambda conn: write(conn, held, a_result(held)))
        job.finished()
        self.let_go(held.id)

    @precondition(lambda self: self.held)
    @rule(pick=PICK, code=CODES)
    def breaks(self, pick: int, code: str) -> None:
        held, job = self.holder(pick)
        assert self.do(lambda conn: write(conn, held, Broke(code, "detail", "stack")))
        job.broke(code)
        self.let_go(held.id)

    @precondition(lambda self: self.held)
    @rule(pick=PICK)
    def stop(self, pick: int) -> None:
        held, job = self.holder(pick)
        assert self.do(lambda conn: write(conn, held, Stopped()))
        job.stopped()
        self.let_go(held.id)

    @precondition(lambda self: self.held)
    @rule(pick=PICK)
    def lose_the_lease(self, pick: int) -> None:
        held, job = self.holder(pick)
        self.do(lambda conn: conn.execute(LOSE, (held.id,)))
        assert self.do(rescue) == {held.id}
        job.broke("WORKER_LOST", waits=False)
        self.let_go(held.id)

    @precondition(lambda self: self.held and self.races)
    @rule(pick=PICK)
    def finish_while_being_rescued(self, pick: int) -> None:
        """Both at once: exactly one of them writes."""
        held, job = self.holder(pick)
        self.do(lambda conn: conn.execute(LOSE, (held.id,)))

        async def rescued(conn: Connection) -> bool:
            return held.id in await rescue(conn)

        lost, done = self.do.together(rescued, lambda conn: write(conn, held, a_result(held)))
        assert lost != done
        row = self.rows()[held.id]
        if done:
            job.finished()
        else:
            job.broke("WORKER_LOST", waits=False)
        check(row, job)
        self.do(lambda conn: queries.delete_job(conn, held.id))
        del self.jobs[held.id]
        self.let_go(held.id)

    @precondition(lambda self: self.stale)
    @rule(pick=PICK, code=CODES)
    def write_late(self, pick: int, code: str) -> None:
        """A worker that lost its job says everything it has to say; nobody listens."""
        # Worst where somebody else works on the job by now, so those come first.
        taken = [job for job in self.stale if job.id in self.held]
        late = (taken or self.stale)[pick % len(taken or self.stale)]
        before = self.rows()
        progress = Progress(99, "late", milestone=True)
        assert not self.do(lambda conn: record_progress(conn, late, progress))
        assert not self.do(lambda conn: leases.extend_leases(conn, [late], lease=LEASE))
        for ending in (a_result(late), Broke(code), Stopped(), LeaseLost()):
            assert not self.do(lambda conn, ending=ending: write(conn, late, ending))
        assert self.rows() == before, "a stale write changed something"

    @precondition(lambda self: self.jobs)
    @rule(pick=PICK)
    def cancel(self, pick: int) -> None:
        job_id = self.any(pick)
        job = self.jobs[job_id]
        assert self.do(lambda conn: queries.cancel_job(conn, job_id)) == (job.status in ACTIVE)
        if job.status in ACTIVE:
            job.cancelled()
            self.let_go(job_id)

    @precondition(lambda self: self.jobs)
    @rule(pick=PICK)
    def retry(self, pick: int) -> None:
        job_id = self.any(pick)
        job = self.jobs[job_id]

        async def again(conn: Connection) -> bool:
            return await queue.retry_job(conn, await the(conn, job_id))

        assert self.do(again) == (job.status is Status.FAILED)
        if job.status is Status.FAILED:
            job.retried()

    @precondition(lambda self: any(job.waiting for job in self.jobs.values()))
    @rule(pick=PICK)
    def promote(self, pick: int) -> None:
        waiting = [job_id for job_id, job in self.jobs.items() if job.waiting]
        job_id = waiting[pick % len(waiting)]
        self.do(lambda conn: conn.execute(DUE, (job_id,)))
        assert self.do(lambda conn: claim.promote(conn, 100)) == 1
        self.jobs[job_id].waiting = False

    @precondition(lambda self: self.jobs)
    @rule(pick=PICK)
    def delete(self, pick: int) -> None:
        job_id = self.any(pick)
        _, keys = self.do(lambda conn: queries.delete_job(conn, job_id))
        assert len(keys) == self.jobs.pop(job_id).result
        self.let_go(job_id)

    @precondition(lambda self: self.has(Status.COMPLETE, Status.FAILED))
    @rule(pick=PICK)
    def expire(self, pick: int) -> None:
        job_id = self.any(pick, Status.COMPLETE, Status.FAILED)
        job = self.do(lambda conn: the(conn, job_id))
        self.do(lambda conn: expire_upload(conn, job.document_id))
        if job.result_key:
            self.do(lambda conn: results.expire_results(conn, [job_id]))
        self.jobs[job_id].result = False

    @invariant()
    def every_row_is_as_expected(self) -> None:
        found = self.rows()
        assert found.keys() == self.jobs.keys()
        for job_id, row in found.items():
            check(row, self.jobs[job_id])
        clocks = [(row["owner"], row["updated_at"]) for row in found.values()]
        assert len(clocks) == len(set(clocks))
