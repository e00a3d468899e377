"""The pool: fair turns, shedding when nothing moves, and the difference of busy and down."""

import asyncio
import time

import psycopg
import pytest

from docmill.core.faults import DocmillError
from docmill.db import turns as turning
from docmill.db.pool import (
    Connection,
    Pool,
    connection,
    open_pool,
    read_connection,
    write,
)
from docmill.db.turns import TurnQueue, TurnQueueByKey
from waits import PATIENCE

pytestmark = pytest.mark.anyio

SOON = PATIENCE
CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'cut me'"


async def code_of(pool: Pool) -> str:
    try:
        async with connection(pool) as conn:
            await conn.execute("SELECT count(*) FROM jobs")
    except DocmillError as exc:
        return exc.fault.code
    return "ok"


async def test_turns_are_given_in_the_order_of_coming() -> None:
    turns, order = TurnQueue(2), list[int]()

    async def come(number: int) -> None:
        async with turns.turn():
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(come(number) for number in range(50)))
    assert order == list(range(50))


async def test_a_turn_given_to_somebody_who_has_left_is_given_on() -> None:
    turns, came = TurnQueue(1), asyncio.Event()

    async def come() -> None:
        async with turns.turn():
            came.set()

    async with turns.turn():
        waiting = [asyncio.create_task(come()) for _ in range(3)]
        await asyncio.sleep(0)
    waiting[0].cancel()  # it has been given its turn, and does not know yet
    async with asyncio.timeout(SOON):
        await came.wait()
        await asyncio.gather(*waiting, return_exceptions=True)
        async with turns.turn():
            pass


async def test_who_waits_in_a_line_that_moves_is_not_shed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turning, "STILL", 0.5)
    turns, done = TurnQueue(1), 0

    async def come() -> None:
        nonlocal done
        async with turns.turn():
            await asyncio.sleep(0.1)
            done += 1

    await asyncio.gather(*(come() for _ in range(15)))  # three times as long as STILL
    assert done == 15


async def test_a_machine_that_does_not_let_us_run_costs_nobody_his_patience(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turning, "STILL", 1.0)
    turns = TurnQueue(1)

    async def come() -> None:
        async with turns.turn():
            pass

    async with turns.turn():
        waiting = [asyncio.create_task(come()) for _ in range(20)]
        for stuck in (0.7, 0.7, 0.7, 1.2):
            await asyncio.sleep(0.01)
            time.sleep(stuck)  # noqa: ASYNC251  as on a machine with too much to do
        await asyncio.sleep(0.01)
    async with asyncio.timeout(SOON):
        await asyncio.gather(*waiting)


async def test_a_line_that_is_too_long_sends_away_who_comes_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turning, "LONGEST_LINE", 3)
    turns = TurnQueue(1)

    async def come() -> str:
        try:
            async with turns.turn():
                return "ok"
        except DocmillError as exc:
            return exc.fault.code

    async with turns.turn():
        coming = [asyncio.create_task(come()) for _ in range(5)]
        await asyncio.wait(coming[3:], timeout=SOON)
        coming[0].cancel()
    codes = await asyncio.gather(*coming[1:])
    assert codes == ["ok", "ok", "BUSY", "BUSY"]


async def test_a_connection_that_is_late_because_nothing_ran_is_waited_for(
    database_url: str,
) -> None:
    async with open_pool(database_url, size=1) as pool:
        async with pool.connection():
            asking = asyncio.create_task(code_of(pool))
            await asyncio.sleep(0.01)
            time.sleep(pool.timeout + 0.1)  # noqa: ASYNC251  as above
            await asyncio.sleep(0.01)
        async with asyncio.timeout(SOON):
            assert await asking == "ok"


async def test_keys_nobody_waits_for_are_forgotten() -> None:
    turns = TurnQueueByKey()
    for number in range(100):
        async with turns.turn(str(number)):
            pass
    assert len(turns._known) == 0  # pyright: ignore[reportPrivateUsage]


async def test_two_hundred_requests_before_a_lock_are_all_answered_within_5_s(
    database_url: str, conn: Connection
) -> None:
    await conn.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
    async with open_pool(database_url, size=5) as pool:
        looks = list[float]()
        looking = asyncio.create_task(look_on(looks))
        codes = await asyncio.gather(*(code_of(pool) for _ in range(200)))
        looking.cancel()
    assert set(codes) == {"BUSY"}
    assert sum(looks) < 5.5


async def look_on(looks: list[float]) -> None:
    """Time as the line counts its patience: a machine that lets us run but seldom adds none."""
    while True:
        await asyncio.sleep(turning.LOOK_SECONDS)
        looks.append(turning.LOOK_SECONDS)


async def test_a_thousand_at_once_wait_in_line_and_all_are_answered(database_url: str) -> None:
    async with open_pool(database_url, size=5) as pool:
        codes = await asyncio.gather(*(code_of(pool) for _ in range(1000)))
    assert set(codes) == {"ok"}


async def test_a_pool_whose_connections_are_all_in_use_is_busy_not_down(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turning, "STILL", 0.2)
    async with open_pool(database_url, size=2) as pool:
        async with connection(pool), connection(pool):
            assert await code_of(pool) == "BUSY"
        async with pool.connection(0.2), pool.connection(0.2):  # as a worker holds them
            pool.timeout = 0.2
            assert await code_of(pool) == "BUSY"


async def test_a_database_that_nobody_reaches_is_down() -> None:
    async with open_pool("host=127.0.0.1 port=1 connect_timeout=2", size=2) as pool:
        assert await code_of(pool) == "DATABASE_DOWN"


async def test_connections_that_died_unseen_are_replaced_before_anybody_gets_one(
    database_url: str, conn: Connection
) -> None:
    async with open_pool(f"{database_url} application_name='cut me'", size=4) as pool:
        async with connection(pool), connection(pool), connection(pool), connection(pool):
            pass
        await conn.set_autocommit(True)
        async with asyncio.timeout(SOON):
            while (await conn.execute(CUT)).rowcount:
                await asyncio.sleep(0.01)
        assert [await code_of(pool) for _ in range(5)] == ["ok"] * 5


@pytest.mark.parametrize("number", ["25006", "53100", "57014", "57P01", "53300", "XX000", "XX001"])
async def test_a_sick_database_is_down_for_whoever_answers_people(pool: Pool, number: str) -> None:
    with pytest.raises(DocmillError) as caught:
        async with read_connection(pool):
            raise psycopg.errors.lookup(number)("it is sick")
    assert (caught.value.fault.code, caught.value.facts) == ("DATABASE_DOWN", {"retryAfter": 60})


@pytest.mark.parametrize("number", ["XX999", "25P04", "42501"])
async def test_an_error_of_the_server_that_nobody_knows_is_an_outage_too(
    pool: Pool, number: str
) -> None:
    raising = f"DO $$BEGIN RAISE 'sick' USING ERRCODE = '{number}'; END$$"
    with pytest.raises(DocmillError) as caught:
        async with connection(pool) as conn:
            await conn.execute(raising.encode())
    assert caught.value.fault.code == "DATABASE_DOWN"


async def test_a_bad_statement_of_ours_stays_a_mistake_of_ours(pool: Pool) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable):
        async with connection(pool) as conn:
            await conn.execute("SELECT 1 FROM nowhere")

    async def act(conn: Connection) -> None:
        await conn.execute("SELECT 1 FROM nowhere")

    with pytest.raises(psycopg.errors.UndefinedTable):
        await write(pool, act)


async def test_who_is_cancelled_while_a_connection_is_handed_over_ends(database_url: str) -> None:
    """At whatever step of the hand-over it happens; and no connection is lost by it."""
    async with open_pool(database_url, size=1) as pool:

        async def come() -> None:
            async with pool.connection():
                pass
            await asyncio.sleep(SOON)  # reached by who did not hear of it

        for steps in range(12):
            async with pool.connection():
                waiting = asyncio.create_task(come())
                while not pool.get_stats().get("requests_waiting"):
                    await asyncio.sleep(0)
            for _ in range(steps):
                await asyncio.sleep(0)
            waiting.cancel()
            done, _ = await asyncio.wait({waiting}, timeout=SOON / 2)
            assert done, f"cancelled {steps} steps after the hand-over"
