"""Events: written in the transaction of what they tell, only for who wants them, and taken once."""

import asyncio
from datetime import timedelta
from typing import Any, Final

import psycopg
import pytest

from docmill.accounts import adoption
from docmill.core import owners
from docmill.core.jobs import Broke
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection, Pool
from docmill.trades import queries as trades_queries
from docmill.webhooks import outbox, queries
from docmill.webhooks.deliver import sweep
from hooks import BROKEN, add_webhook, end_job, fetch, list_events, settle_job
from ledger import ROW
from road import ANN, BOB, add_job, claim

pytestmark = pytest.mark.anyio

TO_CHECK: Final = {"title": "A Broker", "check": 2, "state": "to check"}
MINUTE: Final = timedelta(minutes=1)


async def take(conn: Connection, **given: Any) -> list[outbox.DueDelivery]:
    rules: dict[str, Any] = {"most": 10, "each": 10, "busy": (), "lease": MINUTE, **given}
    return list(await outbox.take_due(conn, **rules))


async def test_the_end_of_a_job_is_told_with_what_it_is(conn: Connection) -> None:
    await add_webhook(conn)
    await conn.commit()
    job_id = await end_job(conn)
    assert await list_events(conn) == []  # written at the commit, when all of it stands
    await conn.commit()
    ((kind, data),) = await fetch(conn, "SELECT kind, data FROM webhook_events")
    assert kind == "job.complete"
    assert data["job_id"] == str(job_id)
    assert (data["status"], data["original_filename"]) == ("complete", "a.pdf")
    assert "owner" not in data


async def test_a_change_that_is_taken_back_tells_nothing(conn: Connection) -> None:
    await add_webhook(conn)
    await conn.commit()
    await end_job(conn)
    await conn.rollback()
    assert await list_events(conn) == []


async def test_only_a_failure_for_good_is_told(conn: Connection) -> None:
    await add_webhook(conn)
    await end_job(conn, Broke("CRASHED", "", ""), attempts=2)  # tried again later
    await conn.commit()
    assert await list_events(conn) == []
    await end_job(conn, BROKEN)
    await conn.commit()
    ((kind, data),) = await fetch(conn, "SELECT kind, data FROM webhook_events")
    assert (kind, data["error_code"], data["status"]) == ("job.failed", "BAD_PDF", "failed")


async def test_who_has_no_webhook_is_told_nothing(conn: Connection) -> None:
    await add_webhook(conn, owner=BOB)
    await end_job(conn, owner=ANN)
    await conn.commit()
    assert await list_events(conn) == []


async def test_a_webhook_is_told_only_what_it_asked_for(conn: Connection) -> None:
    await add_webhook(conn, events=["job.failed"])
    await end_job(conn)
    await conn.commit()
    assert await list_events(conn) == []


async def test_every_trade_is_told_with_its_values(conn: Connection) -> None:
    await add_webhook(conn, events=["trade.created", "document.no_trades"])
    trades = [ROW, {**ROW, "position": 1, "quantity": "3.50", "isin": "DE0008404005"}]
    job_id = await end_job(conn, pipeline="trades", trades=trades)
    await conn.commit()
    assert await list_events(conn) == ["trade.created"] * 2
    data = await fetch(conn, "SELECT data FROM webhook_events ORDER BY data ->> 'position'")
    assert [each["quantity"] for each in data] == ["25", "3.50"]
    assert data[0]["job_id"] == str(job_id)
    assert data[0]["trade_date"] == "2024-03-04"
    assert {"owner", "id", "raw_extracted_data"}.isdisjoint(data[0])


async def test_a_trade_note_without_a_trade_is_told_and_another_document_is_not(
    conn: Connection,
) -> None:
    await add_webhook(conn, events=["document.no_trades"])
    job_id = await end_job(conn, pipeline="trades", trades=[])
    await end_job(conn, pipeline="extract")
    await conn.commit()
    assert await fetch(conn, "SELECT data ->> 'job_id' FROM webhook_events") == [str(job_id)]


async def test_values_that_wait_for_a_person_are_told_once(conn: Connection) -> None:
    await add_webhook(conn, events=["review.waiting"])
    job_id = await end_job(conn, summary=TO_CHECK)
    await end_job(conn, summary={"title": "A Broker", "check": 0})
    await conn.commit()
    assert await fetch(conn, "SELECT data ->> 'job_id' FROM webhook_events") == [str(job_id)]
    change = "UPDATE jobs SET summary = summary || %s::jsonb WHERE id = %s"
    await conn.execute(change, ('{"check": 1}', job_id))  # somebody is at it
    await conn.commit()
    assert await list_events(conn) == ["review.waiting"]


async def test_a_trade_that_is_opened_again_waits_again(conn: Connection) -> None:
    await add_webhook(conn, events=["review.waiting"])
    await end_job(conn, pipeline="trades", trades=[ROW], summary={"title": "A Broker", "check": 0})
    await conn.commit()
    (trade,) = await fetch(conn, "SELECT id FROM trades")
    await trades_queries.set_review_status(conn, [trade], "pending", who="ann")
    await conn.commit()
    assert await list_events(conn) == ["review.waiting"]


async def test_a_desk_has_its_events_told_to_who_asked_for_them(conn: Connection) -> None:
    desk = OwnerKey("desk:trading")
    await add_webhook(conn, owner=ANN, source=desk)
    await add_webhook(conn, owner=BOB)
    await end_job(conn, owner=desk)
    await conn.commit()
    (due,) = await take(conn)
    assert due.url == "http://127.0.0.1:9/"
    assert len(await fetch(conn, "SELECT id FROM webhook_deliveries")) == 1


async def test_two_webhooks_of_one_owner_share_the_id_of_an_event(conn: Connection) -> None:
    first, second = await add_webhook(conn), await add_webhook(conn)
    await end_job(conn)
    await conn.commit()
    due = await take(conn)
    assert {one.webhook_id for one in due} == {first[0].id, second[0].id}
    assert len({one.event_id for one in due}) == 1


async def test_what_one_has_taken_another_does_not_get(pool: Pool) -> None:
    async with pool.connection() as conn:
        await add_webhook(conn)
        await end_job(conn)
    async with pool.connection() as first, pool.connection() as second:
        assert len(await take(first)) == 1
        assert await take(second) == []  # not while the other's transaction is open
    async with pool.connection() as conn:
        assert await take(conn) == []  # nor after it


async def test_what_somebody_died_with_is_taken_again_and_he_can_write_no_more(
    conn: Connection,
) -> None:
    await add_webhook(conn)
    await end_job(conn)
    await conn.commit()
    (stale,) = await take(conn, lease=timedelta(0))
    await conn.commit()
    (fresh,) = await take(conn)
    delivered = outbox.AttemptResult("delivered", 200, 1)
    assert not await outbox.record_attempt(conn, stale, delivered)
    assert await outbox.record_attempt(conn, fresh, delivered)
    assert await fetch(conn, "SELECT count(*) FROM webhook_attempts") == [1]


async def test_a_webhook_with_a_backlog_does_not_hold_up_another(conn: Connection) -> None:
    await add_webhook(conn, owner=ANN)
    await add_webhook(conn, owner=BOB)
    for _ in range(8):
        await end_job(conn, owner=ANN)
    await conn.commit()
    await end_job(conn, owner=BOB)
    await conn.commit()
    assert len({one.webhook_id for one in await take(conn, each=2, most=4)}) == 2


async def test_a_webhook_that_is_deleted_meanwhile_does_not_break_a_job(pool: Pool) -> None:
    async with pool.connection() as conn:
        added, _ = await add_webhook(conn)
        job_id = await add_job(conn)
    async with pool.connection() as worker, pool.connection() as person:
        await queries.delete_webhook(person, added.id)
        (job,) = await claim(worker)
        assert job.id == job_id
        await settle_job(worker, job, None)
        ending = asyncio.create_task(worker.commit())  # waits for the deletion
        await person.commit()
        await ending
    async with pool.connection() as conn:
        assert await fetch(conn, "SELECT status FROM jobs") == ["complete"]
        assert await list_events(conn) == []


async def test_what_a_disabled_webhook_misses_is_noted_and_can_be_replayed(
    conn: Connection,
) -> None:
    added, _ = await add_webhook(conn)
    await outbox.note_health(conn, added.id, is_well=False)
    assert await outbox.disable(conn, added.id, "failing", failing=timedelta(0))
    await end_job(conn)
    await conn.commit()
    assert await fetch(conn, "SELECT status FROM webhook_deliveries") == ["failed"]
    assert await take(conn) == []
    await queries.enable_webhook(conn, added.id)
    assert await queries.replay_since(conn, added.id, added.created_at, missed=True) == 1
    await conn.commit()
    assert len(await take(conn)) == 1


async def test_the_log_is_kept_for_thirty_days(pool: Pool) -> None:
    async with pool.connection() as conn:
        await add_webhook(conn)
        await end_job(conn)
    async with pool.connection() as conn:
        await conn.execute("UPDATE webhook_events SET at = now() - interval '29 days'")
    assert await sweep(pool, timedelta(days=30)) == 0
    async with pool.connection() as conn:
        await conn.execute("UPDATE webhook_events SET at = now() - interval '31 days'")
    assert await sweep(pool, timedelta(days=30)) == 1
    async with pool.connection() as conn:
        assert await fetch(conn, "SELECT id FROM webhook_deliveries") == []


async def test_an_old_secret_signs_for_a_day(conn: Connection) -> None:
    added, secret = await add_webhook(conn)
    await queries.rotate_secret(conn, added.id, "whsec_bmV3")
    await end_job(conn)
    await conn.commit()
    (due,) = await take(conn, lease=timedelta(0))
    assert due.secrets == ["whsec_bmV3", secret]
    await conn.execute("UPDATE webhooks SET old_secret_until = now() - interval '1 second'")
    await conn.commit()
    (due,) = await take(conn)
    assert due.secrets == ["whsec_bmV3"]


async def test_nobody_has_more_than_twenty(conn: Connection) -> None:
    for _ in range(queries.MOST_WEBHOOKS):
        await add_webhook(conn)
    with pytest.raises(AssertionError):
        await add_webhook(conn)
    await add_webhook(conn, owner=BOB)


async def test_a_webhook_needs_an_event(conn: Connection) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        await add_webhook(conn, events=[])


async def test_who_takes_over_a_session_takes_over_its_webhooks(conn: Connection) -> None:
    added, _ = await add_webhook(conn)
    me = owners.LOCAL.key
    await adoption.adopt_sessions(conn, me)
    assert await queries.list_webhooks(conn, ANN) == []
    (one,) = await queries.list_webhooks(conn, me)
    assert (one.id, one.source) == (added.id, me)
