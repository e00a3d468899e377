"""What follows from the way a run ended, and how long a retry waits."""

from datetime import timedelta
from typing import Final
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.core.faults import FAULTS
from docmill.core.jobs import (
    ACTIVE,
    ENDED,
    MOVES,
    Broke,
    Claimed,
    DocumentId,
    Ending,
    Finished,
    JobId,
    LeaseLost,
    Move,
    Retry,
    Status,
    Stopped,
    StoredResult,
    settle,
)
from docmill.core.owners import OwnerKey

RESULT: Final = StoredResult("results/a", "application/json", 10, 8, "0" * 64, "1")
SECONDS: Final = st.timedeltas(timedelta(), timedelta(hours=1))
FIXED: Final = (timedelta(minutes=5), timedelta(minutes=15), timedelta(minutes=60))


def at_attempt(attempt: int) -> Claimed:
    return Claimed(
        JobId(uuid4()), DocumentId(uuid4()), OwnerKey("session:ann"), "extract", None, {}, None,
        attempt, attempt, "uploads/a", "a.pdf", "application/pdf", 1, "0" * 64,
    )  # fmt: skip


def after(ending: Ending, attempt: int, retry: Retry | None = None) -> Move:
    return settle(at_attempt(attempt), ending, retry=retry or Retry(), chance=0.5)


@pytest.mark.parametrize(
    ("ending", "attempt", "to", "outcome", "waits"),
    [
        (Finished(RESULT), 1, Status.COMPLETE, "complete", None),
        (Finished(RESULT), 3, Status.COMPLETE, "complete", None),
        (Finished(RESULT), 9, Status.COMPLETE, "complete", None),
        (Stopped(), 1, Status.QUEUED, "stopped", None),
        (Stopped(), 3, Status.QUEUED, "stopped", None),
        (Stopped(), 9, Status.QUEUED, "stopped", None),
        (Stopped(timedelta(seconds=7), "SERVICE_BUSY"), 9, Status.QUEUED, "stopped", 7.0),
        (LeaseLost(), 1, Status.QUEUED, "lost", None),
        (LeaseLost(), 2, Status.QUEUED, "lost", None),
        (LeaseLost(), 3, Status.FAILED, "lost", None),
        (LeaseLost(), 4, Status.FAILED, "lost", None),
        (Broke("GW_5XX"), 1, Status.QUEUED, "retry", 12.5),
        (Broke("GW_5XX"), 2, Status.QUEUED, "retry", 22.5),
        (Broke("GW_5XX"), 3, Status.FAILED, "failed", None),
        (Broke("GW_5XX"), 4, Status.FAILED, "failed", None),
        (Broke("BAD_PDF"), 1, Status.FAILED, "failed", None),
        (Broke("BAD_PDF"), 3, Status.FAILED, "failed", None),
    ],
)
def test_what_follows_from_an_ending(
    ending: Ending, attempt: int, to: Status, outcome: str, waits: float | None
) -> None:
    move = after(ending, attempt)
    delay = None if waits is None else timedelta(seconds=waits)
    assert (move.to, move.outcome, move.delay) == (to, outcome, delay)
    assert move.refund == isinstance(ending, Stopped)
    assert (move.result is not None) == (to is Status.COMPLETE)
    assert (Status.PROCESSING, move.to) in MOVES


@given(st.sampled_from(sorted(FAULTS)), st.integers(1, 6), st.integers(1, 6))
def test_a_fault_is_retried_exactly_when_the_table_says_so_and_attempts_are_left(
    code: str, attempt: int, attempts: int
) -> None:
    move = after(Broke(code, "detail", "stack"), attempt, Retry(attempts))
    again = FAULTS[code].retried and attempt < attempts
    assert move.to is (Status.QUEUED if again else Status.FAILED)
    assert (move.delay is not None) == again
    assert (move.code, move.message) == (code, FAULTS[code].says if again else FAULTS[code].final)
    assert (move.detail, move.stack) == ("detail", "stack")


def test_a_lost_lease_is_a_fault_of_its_own() -> None:
    move = after(LeaseLost(), 3)
    assert (move.code, move.message) == ("WORKER_LOST", FAULTS["WORKER_LOST"].final)


@given(st.sampled_from(sorted(FAULTS)), st.integers(1, 6), st.integers(1, 6))
def test_a_job_that_failed_for_good_is_promised_no_retry(
    code: str, attempt: int, attempts: int
) -> None:
    for ending in (Broke(code), Broke(code, once=True), LeaseLost()):
        move = after(ending, attempt, Retry(attempts))
        if move.to is Status.FAILED:
            assert "retry" not in (move.message or "")


@pytest.mark.parametrize(
    ("attempt", "attempts", "to"),
    [(1, 3, Status.QUEUED), (2, 3, Status.FAILED), (3, 3, Status.FAILED), (1, 1, Status.FAILED)],
)
def test_a_stall_on_a_busy_machine_is_tried_once_more(
    attempt: int, attempts: int, to: Status
) -> None:
    move = after(Broke("TIMED_OUT", says="too long: 10 s", once=True), attempt, Retry(attempts))
    assert (move.to, move.message) == (to, "too long: 10 s")
    assert (move.delay is not None) == (to is Status.QUEUED)


@given(st.integers(1, 10), st.floats(0, 1))
def test_a_delay_is_five_seconds_doubled_by_each_attempt_and_up_to_five_more(
    attempt: int, chance: float
) -> None:
    seconds = Retry().delay(attempt, chance).total_seconds()
    assert 5 * 2**attempt <= seconds <= 5 * 2**attempt + 5
    assert Retry().delay(attempt, 0).total_seconds() == 5 * 2**attempt
    assert Retry().delay(attempt, 1).total_seconds() == 5 * 2**attempt + 5


@given(st.integers(1, 9), st.floats(0, 1))
def test_longer_attempts_wait_longer(attempt: int, chance: float) -> None:
    assert Retry().delay(attempt + 1, 0) > Retry().delay(attempt, chance) - timedelta(seconds=5)


@pytest.mark.parametrize(("attempt", "minutes"), [(1, 5), (2, 15), (3, 60), (4, 60), (9, 60)])
def test_fixed_delays_are_taken_in_turn_and_the_last_one_stays(attempt: int, minutes: int) -> None:
    assert Retry(9, delays=FIXED).delay(attempt, 0.7) == timedelta(minutes=minutes)


@given(SECONDS, SECONDS, st.integers(1, 5))
def test_base_and_jitter_are_the_operators_choice(
    base: timedelta, jitter: timedelta, attempt: int
) -> None:
    assert Retry(3, base, jitter).delay(attempt, 1) == base * 2**attempt + jitter


def test_three_attempts_unless_told_otherwise() -> None:
    assert Retry().attempts == 3


def test_every_status_is_active_or_ended_has_a_label_and_can_be_reached() -> None:
    assert set(Status) == ACTIVE | ENDED
    assert not ACTIVE & ENDED
    assert {new for _, new in MOVES} == set(Status) - {Status.UPLOADED}
    assert {status: status.label for status in Status} == {
        Status.UPLOADED: "Queued",
        Status.QUEUED: "Waiting",
        Status.PROCESSING: "Converting...",
        Status.COMPLETE: "Ready",
        Status.FAILED: "Failed",
        Status.CANCELLED: "Cancelled",
    }
