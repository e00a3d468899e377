"""What must be true of a job, told without SQL: a small model, and the rows to hold it against."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg.rows import dict_row

from docmill.core.faults import FAULTS
from docmill.core.jobs import MOVES, JobId, Status
from docmill.db.pool import Connection

ATTEMPTS: Final = 3

ROWS: Final = """
SELECT id, status, attempt_count AS attempts, claim, progress, leased_by AS worker,
       error_code AS code, result_key IS NOT NULL AS result, run_at IS NOT NULL AS waiting,
       lease_expires_at IS NOT NULL AS leased, error_message IS NOT NULL AS told, owner, updated_at,
       queued_at IS NOT NULL AS queued, started_at IS NOT NULL AS started,
       completed_at IS NOT NULL AS completed, failed_at IS NOT NULL AS failed,
       cancelled_at IS NOT NULL AS cancelled, priority, start_tag,
       (SELECT count(*) FROM job_attempts a WHERE a.job_id = j.id) AS tries,
       (SELECT count(*) FROM job_attempts a WHERE a.job_id = j.id AND ended_at IS NULL) AS open,
       (SELECT count(*) FROM results r WHERE r.job_id = j.id) AS results,
       ARRAY(SELECT coalesce(meta ->> 'from', '') || ' > ' || (meta ->> 'to') FROM job_events e
              WHERE e.job_id = j.id AND meta ? 'to' ORDER BY e.id) AS steps
  FROM jobs j WHERE pipeline = %s ORDER BY id
"""
Row = dict[str, Any]


async def rows(conn: Connection, pipeline: str) -> dict[JobId, Row]:
    async with conn.cursor(row_factory=dict_row) as cur:
        found = await (await cur.execute(ROWS, (pipeline,))).fetchall()
    return {row["id"]: row for row in found}


@dataclass(slots=True)
class Expected:
    """One job as the rules of SPEC section 3 make it."""

    status: Status = Status.UPLOADED
    attempts: int = 0
    claim: int = 0
    progress: int = 0
    worker: str | None = None
    code: str | None = None
    result: bool = False
    waiting: bool = False

    def claimed(self, worker: str) -> None:
        assert self.status is Status.QUEUED
        assert not self.waiting
        self.status, self.worker = Status.PROCESSING, worker
        self.claim += 1
        self.attempts += 1

    def noted(self, percent: int) -> None:
        self.progress = max(self.progress, percent)

    def finished(self) -> None:
        self.status, self.worker, self.result, self.progress = Status.COMPLETE, None, True, 100

    def stopped(self) -> None:
        self.status, self.worker = Status.QUEUED, None
        self.attempts -= 1

    def broke(self, code: str, *, waits: bool = True) -> None:
        self.worker = None
        if FAULTS[code].retried and self.attempts < ATTEMPTS:
            self.status, self.waiting = Status.QUEUED, waits
        else:
            self.status, self.code = Status.FAILED, code

    def cancelled(self) -> None:
        self.status, self.worker, self.waiting = Status.CANCELLED, None, False

    def retried(self) -> None:
        self.status, self.code = Status.QUEUED, None
        self.attempts = self.progress = 0


def check(row: Row, expected: Expected) -> None:
    """The row is what the model says, and everything around it agrees."""
    names = ("status", "attempts", "claim", "progress", "worker", "code", "result", "waiting")
    assert {n: row[n] for n in names} == {n: getattr(expected, n) for n in names}
    check_invariants(row)
    check_history(row["steps"], row["status"])


def check_invariants(row: Row) -> None:
    """SPEC section 3, word by word."""
    status = Status(row["status"])
    assert not row["result"] or status is Status.COMPLETE
    assert row["results"] == row["result"]
    assert (row["code"] is not None) == row["told"] == (status is Status.FAILED)
    assert (row["worker"] is not None) == row["leased"] == (status is Status.PROCESSING)
    assert 0 <= row["progress"] <= 100
    assert row["completed"] == (status is Status.COMPLETE)
    assert row["failed"] == (status is Status.FAILED)
    assert row["cancelled"] == (status is Status.CANCELLED)
    assert row["queued"] or status in {Status.UPLOADED, Status.CANCELLED}
    assert row["started"] or status not in {Status.PROCESSING, Status.COMPLETE}
    assert row["open"] == (status is Status.PROCESSING)
    assert row["tries"] == row["claim"]


def check_history(steps: Sequence[str], status: str) -> None:
    """From nothing to the status it has, by legal moves, without a gap."""
    assert steps[0] == " > uploaded"
    before = "uploaded"
    for step in steps[1:]:
        old, new = step.split(" > ")
        assert old == before
        assert (Status(old), Status(new)) in MOVES
        before = new
    assert before == status
