"""No order of events brings a job into a state that no rule allows."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from bench.crew import unfenced
from docmill.db.pool import open_pool
from docmill.queue import settle
from properties.machine import Jobs

CALM = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)


@pytest.fixture
def machine(database_url: str) -> Iterator[type[Jobs]]:
    """One event loop and one pool for all lives of the machine."""
    with asyncio.Runner() as runner:
        minute = timedelta(minutes=1)  # on a busy machine three claims wait long for each other
        opened = open_pool(database_url, size=3, wait=minute, lock=minute)
        pool = runner.run(opened.__aenter__())
        try:

            class Mine(Jobs):
                def __init__(self) -> None:
                    super().__init__(runner, pool)

            yield Mine
        finally:
            runner.run(opened.__aexit__(None, None, None))


def test_whatever_happens_in_whatever_order_every_job_stays_legal(
    machine: type[Jobs],
) -> None:
    lives = settings(
        max_examples=500,
        stateful_step_count=14,
        deadline=None,
        print_blob=True,
        suppress_health_check=CALM,
    )
    run_state_machine_as_test(machine, settings=lives)


def test_without_the_fence_the_machine_finds_a_late_write(
    machine: type[Jobs], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control, without the race: unfenced, it ends differently each time."""
    monkeypatch.setattr(machine, "races", False)
    monkeypatch.setattr(settle, "SETTLE", unfenced())
    lives = settings(
        max_examples=200,
        stateful_step_count=30,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=CALM,
    )
    with pytest.raises((AssertionError, psycopg.errors.IntegrityError)) as found:
        run_state_machine_as_test(machine, settings=lives)
    assert "write_late" in {frame.name for frame in found.traceback}
