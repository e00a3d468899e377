"""The database itself refuses what the table of moves forbids, whoever writes the SQL."""

import itertools
from typing import Final

import pytest
from psycopg.errors import CheckViolation

from db.rows import OWNER, WEARS, Row, a_document, a_job, change, move, status_of
from docmill.core.jobs import MOVES, Status

PAIRS: Final = list(itertools.product(Status, Status))
FROM_THE_ROW: Final = {"queued_at", "started_at", "result_key", "claim", "attempt_count"}


@pytest.mark.parametrize(("old", "new"), [pair for pair in PAIRS if pair in MOVES])
def test_a_move_of_the_table_is_made(db: Row, old: Status, new: Status) -> None:
    job_id = a_job(db, old)
    move(db, job_id, new)
    assert status_of(db, job_id) == new


@pytest.mark.parametrize(
    ("old", "new"), [(old, new) for old, new in PAIRS if old != new and (old, new) not in MOVES]
)
def test_any_other_move_is_refused(db: Row, old: Status, new: Status) -> None:
    job_id = a_job(db, old)
    with pytest.raises(CheckViolation, match=f"cannot go from {old} to {new}"), db.transaction():
        move(db, job_id, new)
    assert status_of(db, job_id) == old


@pytest.mark.parametrize("status", Status)
def test_staying_is_no_move_and_needs_nothing(db: Row, status: Status) -> None:
    job_id = a_job(db, status)
    change(db, job_id, {"status": f"'{status}'"})
    assert status_of(db, job_id) == status


def test_the_pairs_above_are_all_there_are() -> None:
    assert len(PAIRS) == 36
    assert set(PAIRS) >= MOVES


@pytest.mark.parametrize(
    ("old", "new", "column"),
    [
        (Status.UPLOADED, Status.QUEUED, "queued_at"),
        (Status.QUEUED, Status.PROCESSING, "started_at"),
        (Status.QUEUED, Status.PROCESSING, "leased_by"),
        (Status.QUEUED, Status.PROCESSING, "lease_expires_at"),
        (Status.QUEUED, Status.PROCESSING, "claim"),
        (Status.QUEUED, Status.PROCESSING, "attempt_count"),
        (Status.PROCESSING, Status.COMPLETE, "result_key"),
        (Status.PROCESSING, Status.COMPLETE, "completed_at"),
        (Status.PROCESSING, Status.COMPLETE, "progress"),
        (Status.PROCESSING, Status.COMPLETE, "leased_by"),
        (Status.PROCESSING, Status.COMPLETE, "lease_expires_at"),
        (Status.PROCESSING, Status.QUEUED, "leased_by"),
        (Status.PROCESSING, Status.QUEUED, "lease_expires_at"),
        (Status.PROCESSING, Status.FAILED, "error_code"),
        (Status.PROCESSING, Status.FAILED, "error_message"),
        (Status.PROCESSING, Status.FAILED, "failed_at"),
        (Status.PROCESSING, Status.FAILED, "leased_by"),
        (Status.QUEUED, Status.FAILED, "error_code"),
        (Status.QUEUED, Status.FAILED, "error_message"),
        (Status.QUEUED, Status.FAILED, "failed_at"),
        (Status.FAILED, Status.QUEUED, "error_code"),
        (Status.FAILED, Status.QUEUED, "error_message"),
        (Status.FAILED, Status.QUEUED, "failed_at"),
        (Status.UPLOADED, Status.CANCELLED, "cancelled_at"),
        (Status.QUEUED, Status.CANCELLED, "cancelled_at"),
        (Status.PROCESSING, Status.CANCELLED, "cancelled_at"),
        (Status.PROCESSING, Status.CANCELLED, "leased_by"),
    ],
)
def test_a_move_without_what_it_must_set_is_refused(
    db: Row, old: Status, new: Status, column: str
) -> None:
    job_id = a_job(db, old)
    with pytest.raises(CheckViolation), db.transaction():
        move(db, job_id, new, without=column)
    move(db, job_id, new)


@pytest.mark.parametrize(
    ("column", "sets", "worn_by"),
    [
        ("result_key", "'results/x'", {Status.COMPLETE}),
        ("error_code", "'UNKNOWN'", {Status.FAILED}),
        ("error_message", "'Something went wrong'", {Status.FAILED}),
        ("leased_by", "'w1'", {Status.PROCESSING}),
        ("lease_expires_at", "now()", {Status.PROCESSING}),
        ("run_at", "now()", {Status.QUEUED}),
        ("completed_at", "now()", {Status.COMPLETE}),
        ("failed_at", "now()", {Status.FAILED}),
        ("cancelled_at", "now()", {Status.CANCELLED}),
    ],
)
@pytest.mark.parametrize("status", Status)
def test_a_column_is_worn_only_in_its_status(
    db: Row, status: Status, column: str, sets: str, worn_by: set[Status]
) -> None:
    job_id = a_job(db, status)
    if status in worn_by:
        change(db, job_id, {column: sets})
        return
    with pytest.raises(CheckViolation), db.transaction():
        change(db, job_id, {column: sets})


@pytest.mark.parametrize(
    ("status", "column"),
    [
        (Status.PROCESSING, "leased_by"),
        (Status.PROCESSING, "lease_expires_at"),
        (Status.PROCESSING, "started_at"),
        (Status.PROCESSING, "queued_at"),
        (Status.QUEUED, "queued_at"),
        (Status.COMPLETE, "completed_at"),
        (Status.COMPLETE, "started_at"),
        (Status.FAILED, "error_code"),
        (Status.FAILED, "error_message"),
        (Status.FAILED, "failed_at"),
        (Status.CANCELLED, "cancelled_at"),
    ],
)
def test_what_a_status_wears_cannot_be_taken_off(db: Row, status: Status, column: str) -> None:
    job_id = a_job(db, status)
    with pytest.raises(CheckViolation), db.transaction():
        change(db, job_id, {column: "NULL"})


def test_the_result_of_a_complete_job_may_expire(db: Row) -> None:
    job_id = a_job(db, Status.COMPLETE)
    change(db, job_id, {"result_key": "NULL"})
    assert status_of(db, job_id) == Status.COMPLETE


def insert_job(db: Row, status: Status, **more: str) -> None:
    """As it stands in the table when it begins like this."""
    columns = {
        "queued_at": "now()",
        "started_at": "now()",
        **{name: value for name, value in WEARS[status].items() if name not in FROM_THE_ROW},
        **more,
    }
    names, values = ", ".join(columns), ", ".join(columns.values())
    query = (
        f"INSERT INTO jobs (id, document_id, owner, pipeline, status, {names})"
        f" VALUES (gen_random_uuid(), %s, %s, 'extract', '{status}', {values})"
    )
    db.execute(query.encode(), (a_document(db), OWNER))


@pytest.mark.parametrize(
    "status", [status for status in Status if status not in {Status.UPLOADED, Status.QUEUED}]
)
def test_a_job_begins_as_uploaded_or_queued_and_as_nothing_else(db: Row, status: Status) -> None:
    with pytest.raises(CheckViolation, match="must begin as uploaded or queued"), db.transaction():
        insert_job(db, status)


def test_a_job_begins_without_a_claim(db: Row) -> None:
    with pytest.raises(CheckViolation, match="must begin without a claim"), db.transaction():
        insert_job(db, Status.QUEUED, claim="1")


def test_a_job_that_begins_as_queued_has_the_time_of_its_owners_clock(db: Row) -> None:
    """Moved by the guard, or just before by the same transaction; no other time is believed."""
    clock = "UPDATE owners SET changed_at = '2050-01-01 00:00Z' WHERE owner = %s"
    told = ["'2001-01-01'", "now()", "'2050-01-01 00:00Z'"]
    for time in told:
        if time == told[-1]:
            db.execute(clock, (OWNER,))
        insert_job(db, Status.QUEUED, updated_at=time)
    query = "SELECT changed_at FROM owners UNION ALL SELECT max(updated_at) FROM jobs"
    owner, last = db.execute(query).fetchall()
    assert owner == last
    query = "SELECT extract(year FROM updated_at)::int FROM jobs ORDER BY 1"
    years = [year for (year,) in db.execute(query).fetchall()]
    assert years[0] > 2001
    assert years[2] == 2050
