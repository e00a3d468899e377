"""What else the database guards: fences, progress, identity, history, the owner's clock."""

import threading
from uuid import UUID

import psycopg
import pytest
from psycopg.errors import CheckViolation, ForeignKeyViolation, NotNullViolation, UniqueViolation

from db.rows import OWNER, Row, a_document, a_job, change, introduce, move, value
from docmill.core.jobs import Status

ADD_EVENT = "INSERT INTO job_events (job_id, kind) VALUES (%s, %s)"


def refused(db: Row, job_id: UUID, columns: dict[str, str], says: str = ".") -> None:
    with pytest.raises(CheckViolation, match=says), db.transaction():
        change(db, job_id, columns)


@pytest.mark.parametrize("unknown", ["'done'", "''", "'Queued'"])
def test_a_status_outside_the_list_is_refused(db: Row, unknown: str) -> None:
    refused(db, a_job(db), {"status": unknown})


@pytest.mark.parametrize("percent", [-1, 101, 32767])
def test_progress_is_a_percentage(db: Row, percent: int) -> None:
    refused(db, a_job(db, Status.PROCESSING), {"progress": str(percent)}, "progress")


@pytest.mark.parametrize(
    "status", [Status.UPLOADED, Status.QUEUED, Status.PROCESSING, Status.COMPLETE]
)
def test_progress_never_goes_back(db: Row, status: Status) -> None:
    job_id = a_job(db, status)
    if status is not Status.COMPLETE:
        change(db, job_id, {"progress": "40"})
        change(db, job_id, {"progress": "40"})
    refused(db, job_id, {"progress": "39"})


def test_progress_begins_anew_only_with_a_retry_of_a_failed_job(db: Row) -> None:
    job_id = a_job(db, Status.PROCESSING)
    change(db, job_id, {"progress": "40"})
    with pytest.raises(CheckViolation), db.transaction():
        move(db, job_id, Status.QUEUED, progress="0")
    move(db, job_id, Status.FAILED)
    move(db, job_id, Status.QUEUED, progress="0")
    assert value(db, job_id, b"progress") == 0


def test_the_progress_of_a_job_that_stays_failed_cannot_go_back(db: Row) -> None:
    job_id = a_job(db, Status.PROCESSING)
    change(db, job_id, {"progress": "40"})
    move(db, job_id, Status.FAILED)
    refused(db, job_id, {"progress": "0"}, "cannot go back")


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("fence", ["claim + 1", "claim - 1", "claim + 2"])
def test_the_fence_moves_only_with_a_claim(db: Row, status: Status, fence: str) -> None:
    refused(db, a_job(db, status), {"claim": fence})


@pytest.mark.parametrize(
    "counted",
    [
        {"claim": "claim + 2"},
        {"claim": "claim"},
        {"attempt_count": "attempt_count"},
        {"attempt_count": "attempt_count + 2"},
        {"attempt_count": "0"},
    ],
)
def test_a_claim_counts_itself_exactly_once(db: Row, counted: dict[str, str]) -> None:
    job_id = a_job(db, Status.QUEUED)
    with pytest.raises(CheckViolation), db.transaction():
        move(db, job_id, Status.PROCESSING, **counted)


def test_attempts_never_outnumber_claims_nor_fall_below_zero(db: Row) -> None:
    job_id = a_job(db, Status.PROCESSING)
    refused(db, job_id, {"attempt_count": "2"}, "counters_make_sense")
    refused(db, job_id, {"attempt_count": "-1"}, "counters_make_sense")


@pytest.mark.parametrize("status", Status)
def test_a_job_cannot_change_what_it_is(db: Row, status: Status) -> None:
    introduce(db, "session:bob")
    job_id, other = a_job(db, status), a_document(db)
    for columns in (
        {"id": "gen_random_uuid()"},
        {"owner": "'session:bob'"},
        {"document_id": f"'{other}'"},
        {"created_at": "created_at - interval '1 second'"},
    ):
        refused(db, job_id, columns, "cannot change what it is")


def test_the_parts_of_an_owners_name_follow_the_owner(db: Row) -> None:
    job_id = a_job(db)
    parts = b"ROW(owner_session_id, user_id)::text"
    assert value(db, job_id, parts) == "(ann,)"
    change(db, job_id, {"owner_session_id": "'bob'", "user_id": "'bob'"})
    assert value(db, job_id, parts) == "(ann,)"
    introduce(db, "user:ann")
    change(db, job_id, {"owner": "'user:ann'"})
    assert value(db, job_id, parts) == "(,ann)"


def test_a_job_needs_a_document_and_an_owner_that_exist(db: Row) -> None:
    document_id = a_document(db)
    add = (
        "INSERT INTO jobs (id, document_id, owner, pipeline) VALUES (gen_random_uuid(), %s, %s, %s)"
    )
    nobody = "00000000-0000-0000-0000-000000000000"
    with pytest.raises(ForeignKeyViolation), db.transaction():
        db.execute(add, (nobody, OWNER, "extract"))
    with pytest.raises(psycopg.errors.NoDataFound), db.transaction():
        db.execute(add, (document_id, "session:nobody", "extract"))
    with pytest.raises(NotNullViolation), db.transaction():
        db.execute(add, (document_id, OWNER, None))
    db.execute(add, (document_id, OWNER, "extract"))


@pytest.mark.parametrize(
    ("column", "wrong"),
    [
        ("bytes", "0"),
        ("bytes", "-1"),
        ("sha256", "'0'"),
        ("sha256", "repeat('G', 64)"),
        ("sha256", "repeat('A', 64)"),
        ("source", "'ftp'"),
        ("upload_key", "NULL"),
        ("expired_at", "now()"),
    ],
)
def test_a_document_has_bytes_a_hash_a_source_and_a_file(db: Row, column: str, wrong: str) -> None:
    document_id = a_document(db)
    query = f"UPDATE documents SET {column} = {wrong} WHERE id = %s"
    with pytest.raises(CheckViolation), db.transaction():
        db.execute(query.encode(), (document_id,))


@pytest.mark.parametrize("owner", ["ann", "session:", "admin:ann", ""])
def test_an_owner_is_a_user_a_session_or_a_desk(db: Row, owner: str) -> None:
    with pytest.raises(CheckViolation), db.transaction():
        introduce(db, owner)


def test_a_dedupe_key_stands_for_one_job(db: Row) -> None:
    first, second = a_job(db), a_job(db)
    change(db, first, {"dedupe_key": "'same'"})
    with pytest.raises(UniqueViolation), db.transaction():
        change(db, second, {"dedupe_key": "'same'"})


def test_events_are_only_added(db: Row) -> None:
    job_id = a_job(db)
    db.execute(ADD_EVENT, (job_id, "created"))
    for query in (
        "UPDATE job_events SET kind = 'failed'",
        "UPDATE job_events SET meta = '{\"a\": 1}'",
        "UPDATE job_events SET at = now()",
        "UPDATE job_events SET worker = NULL",
    ):
        with pytest.raises(CheckViolation, match="history"), db.transaction():
            db.execute(query)
    with pytest.raises(CheckViolation), db.transaction():
        db.execute(ADD_EVENT, (job_id, "exploded"))


def test_an_attempt_ends_with_an_outcome_and_is_one_per_claim(db: Row) -> None:
    job_id = a_job(db, Status.PROCESSING)
    add = "INSERT INTO job_attempts (job_id, claim, attempt, worker) VALUES (%s, 1, 1, 'w1')"
    db.execute(add, (job_id,))
    with pytest.raises(UniqueViolation), db.transaction():
        db.execute(add, (job_id,))
    for query in (
        "UPDATE job_attempts SET ended_at = now()",
        "UPDATE job_attempts SET outcome = 'complete'",
        "UPDATE job_attempts SET ended_at = now(), outcome = 'vanished'",
    ):
        with pytest.raises(CheckViolation), db.transaction():
            db.execute(query)
    db.execute("UPDATE job_attempts SET ended_at = now(), outcome = 'complete'")


def test_one_statement_that_ends_many_tells_all_who_wait_for_any_of_them(db: Row) -> None:
    ended, lasting = [a_job(db, Status.PROCESSING) for _ in range(3)], a_job(db, Status.PROCESSING)
    for awaited in ([ended[0], ended[1]], [ended[2]], [lasting]):
        waiting = a_job(db, Status.QUEUED)
        db.execute(
            "UPDATE jobs SET after = %s, run_at = 'infinity' WHERE id = %s", (awaited, waiting)
        )
    db.execute(
        "UPDATE jobs SET status = 'complete', progress = 100, completed_at = now(),"
        " result_key = 'results/' || id, leased_by = NULL, lease_expires_at = NULL"
        " WHERE id = ANY(%s)",
        (ended,),
    )
    told = db.execute(
        "SELECT done FROM dependency_checks JOIN jobs ON jobs.id = job_id AND done = ANY(after)"
    ).fetchall()
    assert sorted(told) == sorted((job_id,) for job_id in ended)
    assert db.execute("SELECT count(*) FROM dependency_checks").fetchone() == (3,)


def test_a_heartbeat_alone_is_no_change_anybody_waits_for(db: Row) -> None:
    job_id = a_job(db, Status.PROCESSING)
    before = value(db, job_id, b"updated_at")
    change(db, job_id, {"lease_expires_at": "now() + interval '1 hour'"})
    assert value(db, job_id, b"updated_at") == before
    change(db, job_id, {"lease_expires_at": "now()", "stage": "'page 2'"})
    assert value(db, job_id, b"updated_at") > before  # type: ignore[operator]


def test_every_other_column_moves_the_clock(db: Row) -> None:
    """The trigger lists its columns, so a column added later can be forgotten there."""
    query = """
        SELECT attname FROM pg_attribute
         WHERE attrelid = 'jobs'::regclass AND attnum > 0 AND NOT attisdropped
           AND attgenerated = ''
           AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = ANY(%s) AND attnum = ANY(tgattr))
         ORDER BY attnum
    """
    guards = ["jobs_guard_identity", "jobs_guard_update"]
    # Nobody is shown the lease's end or the lane; earlier tries change with the status alone, and
    # the parts of an owner's name with the owner.
    unseen = [
        ("owner_session_id",), ("user_id",), ("lease_expires_at",), ("long",), ("tries_before",),
    ]  # fmt: skip
    assert db.execute(query, (guards,)).fetchall() == unseen


def test_the_clock_of_an_owner_has_no_ties_and_only_goes_forward(db: Row) -> None:
    jobs = [a_job(db) for _ in range(3)]
    seen: list[object] = []
    for _ in range(20):
        for job_id in jobs:
            change(db, job_id, {"stage": "'on'", "updated_at": "'2000-01-01'"})
            seen.append(value(db, job_id, b"updated_at"))
    assert seen == sorted(set(seen))  # type: ignore[type-var]


def test_a_time_the_owners_clock_was_not_moved_to_is_not_taken(db: Row) -> None:
    job_id = a_job(db)
    db.commit()
    db.execute("UPDATE owners SET changed_at = changed_at + interval '1 hour'")
    db.commit()
    for given in ("now() + interval '1 day'", "updated_at + interval '1 minute'"):
        change(db, job_id, {"stage": "'on'", "updated_at": given})
        is_clock = b"updated_at = (SELECT changed_at FROM owners)"
        assert value(db, job_id, is_clock) is True
        db.rollback()


def test_a_move_at_a_time_that_is_not_of_the_owners_clock_is_refused(db: Row) -> None:
    """A move as queues make it is no matter of the guard: the statement is looked at as a whole."""
    moved = [a_job(db, Status.QUEUED) for _ in range(2)]
    db.execute("UPDATE owners SET changed_at = changed_at + interval '1 hour'")
    db.commit()
    for given in ("now() + interval '1 day'", "updated_at + interval '1 minute'"):
        with pytest.raises(CheckViolation, match="clock"), db.transaction():
            move(db, moved[0], Status.PROCESSING, updated_at=given)
    for job_id in moved:
        with db.transaction():
            db.execute("UPDATE owners SET changed_at = changed_at + interval '1 second'")
            ours = "(SELECT changed_at FROM owners)"
            move(db, job_id, Status.PROCESSING, updated_at=ours)
            assert value(db, job_id, f"updated_at = {ours}".encode()) is True


def test_a_system_clock_set_back_does_not_turn_an_owners_clock_back(db: Row) -> None:
    job_id = a_job(db)
    db.execute("UPDATE owners SET changed_at = now() + interval '1 hour'")
    change(db, job_id, {"stage": "'on'"})
    ahead = (
        "updated_at = (SELECT changed_at FROM owners) AND updated_at > now() + interval '59 min'"
    )
    assert value(db, job_id, ahead.encode()) is True


def test_writers_at_the_same_time_get_different_times(shared_url: str) -> None:
    with psycopg.connect(shared_url) as conn:
        jobs = [a_job(conn) for _ in range(4)]
    times: list[object] = []

    def write(job_id: UUID) -> None:
        with psycopg.connect(shared_url, autocommit=True) as mine:
            for _ in range(50):
                change(mine, job_id, {"stage": "'on'"})
                times.append(value(mine, job_id, b"updated_at"))

    threads = [threading.Thread(target=write, args=(job_id,)) for job_id in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(times) == len(set(times)) == 200
