"""Deliveries to a real server: signed, tried again, given up, replayed; and never inside."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest

from docmill.core import failpoints
from docmill.db.pool import Pool
from docmill.services.outbound import OutboundClient, OutboundRules
from docmill.webhooks import queries
from docmill.webhooks.deliver import DELAYS, Deliverer, DeliveryRules
from hooks import ALLOWED, QUICK, add_webhook, delivering, end_job, fetch
from receivers import receiving, receiving_by, reply
from waits import until

pytestmark = pytest.mark.anyio

LONG: Final = timedelta(hours=1)


async def statuses(pool: Pool) -> list[str]:
    async with pool.connection() as conn:
        return await fetch(conn, "SELECT status FROM webhook_deliveries ORDER BY created_at, id")


async def ended(pool: Pool, count: int = 1) -> bool:
    found = await statuses(pool)
    return len(found) == count and "pending" not in found


async def test_an_event_arrives_signed_as_receivers_check_it(pool: Pool) -> None:
    async with receiving(200) as receiver, pool.connection() as conn:
        _, secret = await add_webhook(conn, receiver.url)
        job_id = await end_job(conn)
        await conn.commit()
        async with delivering(pool):
            await until(lambda: ended(pool))
        (one,) = receiver.received
        told = one.verify(secret)
        assert told["type"] == "job.complete"
        assert told["data"]["job_id"] == str(job_id)
        assert told["timestamp"].endswith("Z")
        assert one.headers["content-type"] == "application/json"
        ((status, answer, error),) = await fetch(
            conn, "SELECT status, answer, error FROM webhook_attempts"
        )
        assert (status, answer, error) == (200, "an answer", "")


async def test_after_a_rotation_old_and_new_secret_verify(pool: Pool) -> None:
    async with receiving(200) as receiver, pool.connection() as conn:
        added, old = await add_webhook(conn, receiver.url)
        await queries.rotate_secret(conn, added.id, "whsec_" + "bmV3" * 8)
        await end_job(conn)
        await conn.commit()
        async with delivering(pool):
            await until(lambda: ended(pool))
        for secret in (old, "whsec_" + "bmV3" * 8):
            assert receiver.received[0].verify(secret)


async def test_what_fails_is_tried_again_with_the_same_id(pool: Pool) -> None:
    async with receiving(500, 404, 301, 200) as receiver, pool.connection() as conn:
        _, secret = await add_webhook(conn, receiver.url)
        await end_job(conn)
        await conn.commit()
        async with delivering(pool):
            await until(lambda: ended(pool))
        assert await statuses(pool) == ["delivered"]
        assert len({one.id for one in receiver.received}) == 1
        assert all(one.verify(secret) for one in receiver.received)
        log = await fetch(conn, "SELECT status, outcome FROM webhook_attempts ORDER BY id")
        assert log == [(500, "retry"), (404, "retry"), (301, "retry"), (200, "delivered")]


async def test_after_ten_tries_it_has_failed_and_the_webhook_is_off(pool: Pool) -> None:
    async with receiving(500) as receiver, pool.connection() as conn:
        await add_webhook(conn, receiver.url)
        await end_job(conn)
        await conn.commit()
        async with delivering(pool):
            await until(lambda: ended(pool))
        assert len(receiver.received) == 10
        assert await statuses(pool) == ["failed"]
        ((off, why),) = await fetch(
            conn, "SELECT disabled_at IS NOT NULL, disabled_because FROM webhooks"
        )
        assert (off, why) == (True, "failing")


async def test_a_webhook_that_takes_others_stays_on_when_one_delivery_fails(pool: Pool) -> None:
    """Something got through meanwhile, so it is not the server that is gone."""
    rules = replace(QUICK, delays=(timedelta(milliseconds=200),) * 9, slots_each=1)

    def answer(number: int) -> bytes:
        return reply(500 if number < 10 else 200)

    async with receiving_by(answer) as receiver, pool.connection() as conn:
        await add_webhook(conn, receiver.url)
        await end_job(conn)
        await conn.commit()
        await conn.execute("UPDATE webhook_deliveries SET tries = 9")  # its last try is to come
        await end_job(conn)
        await conn.commit()
        async with delivering(pool, rules):
            await until(lambda: ended(pool, 2))
        assert sorted(await statuses(pool)) == ["delivered", "failed"]
        assert await fetch(conn, "SELECT disabled_at FROM webhooks") == [None]


async def test_410_turns_the_webhook_off_at_once_with_all_that_waits_for_it(pool: Pool) -> None:
    async with receiving(410) as receiver, pool.connection() as conn:
        await add_webhook(conn, receiver.url)
        for _ in range(3):
            await end_job(conn)
        await conn.commit()
        async with delivering(pool, replace(QUICK, slots_each=1)):
            await until(lambda: ended(pool, 3))
        assert len(receiver.received) == 1
        assert await statuses(pool) == ["failed"] * 3
        assert await fetch(conn, "SELECT disabled_because FROM webhooks") == ["gone"]


async def test_a_replay_is_sent_again_with_the_same_id(pool: Pool) -> None:
    async with receiving(200) as receiver, pool.connection() as conn:
        added, _ = await add_webhook(conn, receiver.url)
        await end_job(conn)
        await end_job(conn)
        await conn.commit()
        async with delivering(pool):
            await until(lambda: ended(pool, 2))
            (first, _) = await fetch(conn, "SELECT id FROM webhook_deliveries ORDER BY created_at")
            assert await queries.replay_one(conn, added.id, first)
            assert not await queries.replay_one(conn, added.id, first)  # it waits already
            await conn.commit()
            await until(lambda: len(receiver.received) == 3)
            await until(lambda: ended(pool, 2))
            assert await queries.replay_since(conn, added.id, added.created_at, missed=True) == 0
            assert await queries.replay_since(conn, added.id, added.created_at, missed=False) == 2
            await conn.commit()
            await until(lambda: len(receiver.received) == 5)
        assert len({one.id for one in receiver.received}) == 2


async def test_a_private_address_is_not_connected_to(pool: Pool) -> None:
    """Also where it was public when the webhook was made."""
    nothing = OutboundRules("DOCMILL_WEBHOOK_ALLOW")
    async with receiving(200) as receiver, pool.connection() as conn:
        await add_webhook(conn, receiver.url)
        await end_job(conn)
        await conn.commit()
        async with delivering(pool, allowed=nothing):
            await until(lambda: ended(pool))
        assert not receiver.received
        errors = await fetch(conn, "SELECT DISTINCT error FROM webhook_attempts")
        assert "DOCMILL_WEBHOOK_ALLOW" in errors[0]


async def test_a_redirect_is_a_failure_and_leads_nowhere(pool: Pool) -> None:
    async with receiving(200) as inside:

        def answer(number: int) -> bytes:
            return reply(307, location=inside.url) if number == 0 else reply(200)

        async with receiving_by(answer) as receiver, pool.connection() as conn:
            await add_webhook(conn, receiver.url)
            await end_job(conn)
            await conn.commit()
            async with delivering(pool):
                await until(lambda: ended(pool))
            assert len(receiver.received) == 2
        assert not inside.received


async def test_of_a_long_answer_only_the_beginning_is_read(pool: Pool) -> None:
    def answer(_: int) -> bytes:
        return b"HTTP/1.1 200 OK\r\ncontent-length: 900000000\r\n\r\n" + b"x" * 100_000

    async with receiving_by(answer) as receiver, pool.connection() as conn:
        await add_webhook(conn, receiver.url)
        await end_job(conn)
        await conn.commit()
        async with delivering(pool):
            await until(lambda: ended(pool))
        assert await fetch(conn, "SELECT answer FROM webhook_attempts") == ["x" * 500]


async def test_who_does_not_answer_is_left_and_others_go_on(pool: Pool) -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()  # until the sender has enough
        writer.close()

    hanging = await asyncio.start_server(hang, "127.0.0.1", 0)
    port = hanging.sockets[0].getsockname()[1]
    rules = replace(QUICK, timeout=timedelta(seconds=1), delays=(LONG,) * 9)
    async with receiving(200) as receiver, pool.connection() as conn:
        await add_webhook(conn, f"http://127.0.0.1:{port}/")
        await add_webhook(conn, receiver.url)
        await end_job(conn)
        await conn.commit()
        query = "SELECT error FROM webhook_attempts WHERE error <> ''"
        async with delivering(pool, rules):
            await until(lambda: fetch(conn, query))
            assert await fetch(conn, query) == ["no answer within 1 s"]
            await until(lambda: len(receiver.received) == 1)
    hanging.close()
    await hanging.wait_closed()


async def test_a_busy_server_is_left_alone_as_long_as_it_asks(pool: Pool) -> None:
    def answer(_: int) -> bytes:
        return reply(503, retry_after="3600")

    async with receiving_by(answer) as receiver, pool.connection() as conn:
        await add_webhook(conn, receiver.url)
        await end_job(conn)
        await conn.commit()
        waits = (
            "SELECT due_at > now() + interval '50 minutes' FROM webhook_deliveries WHERE tries = 1"
        )
        async with delivering(pool):
            await until(lambda: fetch(conn, waits))
        assert await fetch(conn, waits) == [True]
        assert len(receiver.received) == 1


async def test_two_deliverers_share_the_work_and_send_each_event_once(pool: Pool) -> None:
    async with receiving(200) as receiver, pool.connection() as conn:
        await add_webhook(conn, receiver.url)
        for _ in range(40):
            await end_job(conn)
        await conn.commit()
        async with delivering(pool), delivering(pool):
            await until(lambda: ended(pool, 40))
        assert len(receiver.received) == len({one.id for one in receiver.received}) == 40


async def test_a_server_that_is_not_there_is_tried_again(pool: Pool) -> None:
    async with pool.connection() as conn:
        await add_webhook(conn, "http://127.0.0.1:1/")
        await end_job(conn)
        await conn.commit()
        async with delivering(pool):
            await until(lambda: ended(pool))
        errors = await fetch(conn, "SELECT DISTINCT error FROM webhook_attempts")
        assert errors == ["the connection failed (ConnectError)"]


async def test_who_breaks_after_sending_has_it_sent_again_with_the_same_id(pool: Pool) -> None:
    rules = replace(QUICK, lease=timedelta(milliseconds=100))
    failpoints.arm("webhook.sent=fail")
    try:
        async with receiving(200) as receiver, pool.connection() as conn:
            _, secret = await add_webhook(conn, receiver.url)
            await end_job(conn)
            await conn.commit()
            async with delivering(pool, rules):
                await until(lambda: len(receiver.received) >= 2)
                failpoints.arm("")
                await until(lambda: ended(pool))
            assert len({one.id for one in receiver.received}) == 1
            assert all(one.verify(secret) for one in receiver.received)
            assert await fetch(conn, "SELECT count(*) FROM webhook_attempts") == [1]
    finally:
        failpoints.arm("")


def test_ten_tries_take_three_days_and_each_waits_longer() -> None:
    assert len(DELAYS) == 9
    assert list(DELAYS) == sorted(DELAYS)
    total = sum(DELAYS, timedelta())
    assert timedelta(days=2.9) < total <= timedelta(days=3)
    assert DeliveryRules().lease > DeliveryRules().timeout


async def test_a_broken_part_breaks_the_deliverer(pool: Pool) -> None:
    """So that who watches it starts it again."""

    class Sweeping(Deliverer):
        async def _sweep(self) -> None:
            raise OSError("broken")

    async with OutboundClient(ALLOWED, timeout=LONG) as client:
        with pytest.raises(OSError, match="broken"):
            await Sweeping(pool, client, QUICK).run()
