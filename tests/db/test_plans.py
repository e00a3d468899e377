"""Hot statements behind 100,000 mixed rows: counted by the pages they touch, not by the clock."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import psycopg
import pytest

from db.crowd import BIG, JOBS, Args, fill, plan_of
from docmill.jobs import queries
from docmill.queue import boost, claim, enqueue, leases, settle
from docmill.queue.binding import bind_moves

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


def a_claim(pipelines: list[str], slots: int, long_slots: int = 2) -> dict[str, Any]:
    lease = timedelta(minutes=5)
    asked = {"worker": "w2", "pipelines": pipelines, "slots": slots, "lease": lease}
    return {**asked, "long_slots": long_slots, "gateways": "{}"}


def an_exchange(slots: int) -> dict[str, Any]:
    moves = [{"id": str(UUID(int=0)), "claim": 1, "goes": "complete"}]
    return {**a_claim(ALL, slots), **bind_moves(moves)}


def another(pipelines: list[str]) -> Args:
    others = {"besides": [BIG, "session:7"], "looked_at": claim.LOOKED_AT}
    return {**a_claim(pipelines, 1), **others}


def recent(owner: str, statuses: list[str] | None = None, at: datetime | str = "infinity") -> Args:
    page = {"created_at": at, "id": UUID(int=0), "pipeline": None, "text": None, "limit": 51}
    return {"owner": owner, "statuses": statuses, **page}


def recent_named(text: str) -> Args:
    page = {"created_at": "infinity", "id": UUID(int=0), "pipeline": None, "limit": 51}
    return {"owner": BIG, "statuses": None, "text": text, **page}


def named(text: str) -> Args:
    return {"owner": BIG, "text": text, "limit": queries.FEW + 1}


def of_documents(count: int) -> Args:
    found = [UUID(int=0x9000_000000000000 + 0x4000 * 2**64 + number) for number in range(count)]
    page = {"created_at": "infinity", "id": UUID(int=0), "pipeline": None, "limit": 51}
    return {"owner": BIG, "statuses": None, "documents": found, **page}


def changed(since: datetime) -> Args:
    page = {"statuses": None, "pipeline": None, "text": None, "since": since, "limit": 51}
    return {"owner": BIG, **page}


STALE_ARGS: Final = {"longest": timedelta(hours=2), "dead": ["w9"], "limit": 100}
AN_ENQUEUED: Final = {
    "id": UUID(int=0),
    "owner": BIG,
    "pipeline": "extract",
    "priority": 0,
    "was": "uploaded",
    "not_before": None,
    "after": None,
}
HOT: Final[list[tuple[str, str, Args, int]]] = [
    ("claim 3 of one pipeline", claim.CLAIM, a_claim(["extract"], 3), 200),
    ("claim 3 of four pipelines", claim.CLAIM, a_claim(ALL, 3), 250),
    ("claim 3, none of them long", claim.CLAIM, a_claim(ALL, 3, 0), 250),
    ("settle one and claim 3", settle.EXCHANGE, an_exchange(3), 350),
    ("settle one", settle.SETTLE, an_exchange(3), 100),
    ("claim one of another owner", claim.CLAIM_OTHER, another(ALL), 250),
    ("see whether others wait", claim.OTHERS_WAIT, another(ALL), 200),
    ("promote 10", claim.PROMOTE, (10,), 600),
    ("next due", claim.NEXT_DUE, (), 10),
    ("release, nothing to look at", claim.RELEASE, {"limit": 100, "message": "x"}, 20),
    ("move ahead", boost.MOVE_AHEAD, {"id": UUID(int=0)}, 20),
    ("stale", leases.FIND_STALE, STALE_ARGS, 600),
    ("recent", queries.RECENT, recent(BIG), 400),
    ("recent, far back", queries.RECENT, recent(BIG, at=SOON), 400),
    ("recent of one status", queries.RECENT, recent(BIG, ["failed"]), 1000),
    ("changed, little", queries.CHANGED, changed(SOON + timedelta(minutes=58)), 400),
    ("changed, much", queries.CHANGED, changed(SOON - timedelta(days=30)), 400),
    ("recent by a name that many have", queries.RECENT, recent_named("5.pdf"), 1200),
    ("a name that few have, of 20,000", queries.NAMED, named("99995.PDF"), 400),
    ("a name that nobody has", queries.NAMED, named("nothing like it"), 400),
    ("recent of 500 documents", queries.OF_DOCUMENTS, of_documents(queries.FEW), 4000),
    ("deleted, none", queries.DELETED, {"owner": BIG, "since": SOON, "limit": 100}, 10),
    ("active count of a small owner", queries.COUNT_ACTIVE, ("session:7",), 20),
    ("active count of a big owner", queries.COUNT_ACTIVE, (BIG,), 200),
    ("twin", enqueue.FIND_TWIN, ("key 500",), 20),
    ("one", enqueue.FIND_JOB, (UUID("c4ca4238-a0b9-2382-0dcc-509a6f75849b"),), 20),
    ("enqueue", enqueue.ENQUEUE, AN_ENQUEUED, 60),
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
    asked = "SELECT count(*) FROM jobs WHERE status = 'queued' AND run_at IS NULL AND long"
    row = crowded.execute(asked).fetchone()
    assert row is not None
    assert row[0] > 3_000


def test_jobs_that_wait_for_others_cost_a_claim_and_an_end_nothing(
    crowded: psycopg.Connection,
) -> None:
    """Two thousand wait: a claim reads no more than before, and an end finds the one that waits."""
    one = crowded.execute("SELECT id FROM jobs WHERE status = 'processing' LIMIT 1").fetchone()
    assert one is not None
    wait = """
        UPDATE jobs SET after = ARRAY[gen_random_uuid()], run_at = '9999-01-01 00:00Z'
         WHERE id IN (SELECT id FROM jobs WHERE status = 'queued' LIMIT 2000)
    """
    crowded.execute(wait)
    depend = """
        UPDATE jobs SET after = ARRAY[%s::uuid]
         WHERE id = (SELECT id FROM jobs WHERE status = 'queued' AND after IS NOT NULL LIMIT 1)
        RETURNING id
    """
    waiting = crowded.execute(depend, one).fetchone()
    assert plan_of(crowded, claim.CLAIM, a_claim(ALL, 3), generic=False).pages < 250
    found = """
        SELECT id FROM jobs
         WHERE status = 'queued' AND after IS NOT NULL AND after @> ARRAY[%(id)s::uuid]
    """
    plan = plan_of(crowded, found, {"id": one[0]}, generic=False)
    assert (plan.whole_tables.count("jobs"), plan.pages < 100) == (0, True)
    assert crowded.execute(found, {"id": one[0]}).fetchall() == [waiting]


def test_the_obvious_claim_would_be_caught(crowded: psycopg.Connection) -> None:
    """The negative control: one ORDER BY over all pipelines sorts the whole queue."""
    obvious = """
        SELECT id FROM jobs WHERE status = 'queued' AND run_at IS NULL AND pipeline = ANY(%s)
         ORDER BY priority DESC, start_tag LIMIT %s FOR UPDATE SKIP LOCKED
    """
    assert plan_of(crowded, obvious, (ALL, 3), generic=False).pages > 1000
