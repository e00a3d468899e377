"""Reads the history of a run under faults and counts what must not be."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import psycopg

from docmill.core.jobs import ENDED, MOVES, Status

JOBS: Final = "SELECT id, status FROM jobs"
EFFECTS: Final = """
SELECT id FROM jobs LEFT JOIN results ON job_id = id AND form = 'data'
 WHERE status = 'complete' GROUP BY id HAVING count(key) <> 1
UNION ALL
SELECT job_id FROM job_events WHERE kind = 'complete' GROUP BY job_id HAVING count(*) > 1
"""
STEPS: Final = """
SELECT job_id, meta ->> 'from', meta ->> 'to' FROM job_events
 WHERE meta ? 'to' ORDER BY job_id, id
"""
TIES: Final = """
SELECT count(*) FROM (SELECT FROM jobs GROUP BY owner, updated_at HAVING count(*) > 1) AS tied
"""
OPEN: Final = """
SELECT count(*) FROM job_attempts JOIN jobs ON jobs.id = job_id
 WHERE ended_at IS NULL AND status <> 'processing'
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """All zero, or a promise is broken."""

    acknowledged: int
    complete: int
    failed: int
    lost: int
    unexpected: int
    doubled: int
    stuck: int
    illegal: int

    @property
    def clean(self) -> bool:
        return not (self.lost or self.unexpected or self.doubled or self.stuck or self.illegal)


def judge(url: str, acknowledged: Iterable[UUID]) -> Verdict:
    """Acknowledged minus terminal, terminal minus acknowledged, effects per job, open ends."""
    told = set(acknowledged)
    with psycopg.connect(url) as conn:
        states = {job_id: Status(status) for job_id, status in conn.execute(JOBS)}
        doubled = {row[0] for row in conn.execute(EFFECTS)}
        illegal = _illegal(conn)
    ended = {job_id for job_id, status in states.items() if status in ENDED}
    counts = list(states.values())
    return Verdict(
        acknowledged=len(told),
        complete=counts.count(Status.COMPLETE),
        failed=counts.count(Status.FAILED),
        lost=len(told - states.keys()),
        unexpected=len(ended - told),
        doubled=len(doubled),
        stuck=len(told & states.keys() - ended),
        illegal=illegal,
    )


def _illegal(conn: psycopg.Connection) -> int:
    """Steps that no rule allows, jumps in a history, ties in an owner's clock, open attempts."""
    wrong = 0
    last: dict[UUID, str] = {}
    for job_id, old, new in conn.execute(STEPS):
        begins = old is None and new == "uploaded"
        allowed = begins or (Status(old), Status(new)) in MOVES
        wrong += not allowed or last.get(job_id) != old
        last[job_id] = new
    for query in (TIES, OPEN):
        row = conn.execute(query).fetchone()
        wrong += row[0] if row else 0
    return wrong
