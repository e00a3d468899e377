"""Hot statements behind 100,000 mixed rows: counted by the pages they touch, not by the clock."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import psycopg
import pytest

from db.crowd import BIG, JOBS, Args, fill, plan_of
from docmill.db import jobs, leases, lists, queue

ALL: Final = ["extract", "invoice", "trades", "study"]
SOON: Final = datetime.now(UTC) - timedelta(hours=1)


@pytest.fixture(scope="module")
def crowded_url(shared_url: str) -> str:
    fill(shared_url)
    return shared_url


@pytest.fixture
def crowded(crowded_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(crowded_url) as conn:
        yield conn
        conn.rollback()


def a_claim(pipelines: list[str], slots: int) -> Args:
    lease = timedelta(minutes=5)
    asked = {"worker": "w2", "pipelines": pipelines, "slots": slots, "lease": lease}
    return {**asked, "gateways": "{}"}


def recent(owner: str, statuses: list[str] | None = None, at: datetime | str = "infinity") -> Args:
    page = {"created_at": at, "id": UUID(int=0), "pipeline": None, "limit": 51}
    return {"owner": owner, "statuses": statuses, **page}


def changed(since: datetime) -> Args:
    return {"owner": BIG, "statuses": None, "pipeline": None, "since": since, "limit": 51}


STALE_ARGS: Final = {"longest": timedelta(hours=2), "dead": ["w9"], "limit": 100}
AN_ENQUEUED: Final = {
    "id": UUID(int=0),
    "owner": BIG,
    "pipeline": "extract",
    "priority": 0,
    "was": "uploaded",
}
HOT: Final[list[tuple[str, str, Args, int]]] = [
    ("claim 3 of one pipeline", queue.CLAIM, a_claim(["extract"], 3), 200),
    ("claim 3 of four pipelines", queue.CLAIM, a_claim(ALL, 3), 250),
    ("promote 10", queue.PROMOTE, (10,), 600),
    ("next due", queue.NEXT_DUE, (), 10),
    ("stale", leases.STALE, STALE_ARGS, 600),
    ("recent", lists.RECENT, recent(BIG), 400),
    ("recent, far back", lists.RECENT, recent(BIG, at=SOON), 400),
    ("recent of one status", lists.RECENT, recent(BIG, ["failed"]), 1000),
    ("changed, little", lists.CHANGED, changed(SOON + timedelta(minutes=58)), 400),
    ("changed, much", lists.CHANGED, changed(SOON - timedelta(days=30)), 400),
    ("active count of a small owner", lists.ACTIVE, ("session:7",), 20),
    ("active count of a big owner", lists.ACTIVE, (BIG,), 200),
    ("twin", jobs.TWIN, ("key 500",), 20),
    ("one", jobs.ONE, (UUID("c4ca4238-a0b9-2382-0dcc-509a6f75849b"),), 20),
    ("enqueue", jobs.ENQUEUE, AN_ENQUEUED, 60),
]


@pytest.mark.parametrize("generic", [False, True], ids=["custom", "generic"])
@pytest.mark.parametrize(
    ("query", "args", "pages"), [hot[1:] for hot in HOT], ids=[h[0] for h in HOT]
)
def test_a_hot_statement_touches_few_pages(
    crowded: psycopg.Connection, query: str, args: Args, pages: int, generic: bool
) -> None:
    plan = plan_of(crowded, query, args, generic=generic)
    assert plan.whole_tables.count("jobs") == 0
    assert plan.pages < pages


def test_the_crowd_is_as_mixed_as_it_says(crowded: psycopg.Connection) -> None:
    rows = crowded.execute("SELECT status, count(*) FROM jobs GROUP BY status").fetchall()
    counts = dict(rows)
    assert sum(counts.values()) == JOBS
    assert min(counts.values()) >= 100
    assert counts["queued"] > 20_000


def test_the_obvious_claim_would_be_caught(crowded: psycopg.Connection) -> None:
    """The negative control: one ORDER BY over all pipelines sorts the whole queue."""
    obvious = """
        SELECT id FROM jobs WHERE status = 'queued' AND run_at IS NULL AND pipeline = ANY(%s)
         ORDER BY priority DESC, start_tag LIMIT %s FOR UPDATE SKIP LOCKED
    """
    assert plan_of(crowded, obvious, (ALL, 3), generic=False).pages > 1000
