"""Trades: written with their job, replaced unless reviewed, audited, and holding their document."""

from datetime import date
from decimal import Decimal
from uuid import uuid4

import psycopg
import pytest

from docmill.core import owners
from docmill.core.owners import Owner, OwnerKey
from docmill.core.retention import DueWhen, SweptCount
from docmill.db.pool import Connection
from docmill.documents import queries as documents_queries
from docmill.jobs import queries as jobs_queries
from docmill.jobs import sweep
from docmill.trades import queries
from docmill.trades.queries import TradeFilter, TradeId
from docmill.web.params import Cursor
from ledger import ROW, traded, write
from road import ANN, BOB, finish, the

pytestmark = pytest.mark.anyio

DESK = OwnerKey("desk:equities")
SELF = Owner(ANN)


async def all_of(conn: Connection, asker: Owner = SELF, **given: object) -> list[queries.Trade]:
    return await queries.list_trades(conn, asker, TradeFilter(**given), after=None, limit=100)  # pyright: ignore[reportArgumentType]


async def test_a_trade_is_kept_as_it_was_read(conn: Connection) -> None:
    job, _ = await traded(conn)
    (trade,) = await all_of(conn)
    assert (trade.document_id, trade.job_id, trade.owner) == (job.document_id, job.id, ANN)
    assert (trade.values["quantity"], trade.values["notional"]) == (Decimal(25), Decimal("4310.00"))
    assert trade.values["trade_date"] == date(2024, 3, 4)
    assert (trade.review_status, trade.reviewed_at) == ("approved", None)
    assert trade.raw_extracted_data == ROW["raw_extracted_data"]


async def test_a_doubtful_trade_waits(conn: Connection) -> None:
    await traded(conn, {"needs_review": True})
    (trade,) = await all_of(conn, review_status="pending")
    assert trade.review_status == "pending"


@pytest.mark.parametrize(
    "wrong",
    [
        {"direction": "hold"}, {"quantity": "-1"}, {"isin": "x"}, {"currency": "euro"},
        {"confidence_score": 2}, {"direction": None},
    ],
)  # fmt: skip
async def test_the_table_refuses_what_is_no_trade(
    conn: Connection, wrong: dict[str, object]
) -> None:
    with pytest.raises(psycopg.errors.IntegrityError):
        await traded(conn, wrong)


async def test_another_run_replaces_what_nobody_reviewed(conn: Connection) -> None:
    job, _ = await traded(conn, {}, {"isin": "US0378331005"})
    await write(conn, job, {"quantity": "30"})
    assert [trade.values["quantity"] for trade in await all_of(conn)] == [Decimal(30)]


async def test_another_run_keeps_what_was_reviewed_and_does_not_double_it(conn: Connection) -> None:
    job, _ = await traded(conn, {}, {"isin": "US0378331005"})
    first = next(t for t in await all_of(conn) if t.position == 0)
    await queries.set_review_status(conn, [first.id], "rejected", who="user:ann")
    await write(conn, job, {}, {"isin": "US0378331005", "quantity": "7"}, {"isin": None})
    found = sorted(await all_of(conn), key=lambda trade: trade.position)
    assert [t.position for t in found] == [0, 1, 2]
    assert found[0].id == first.id
    assert found[0].review_status == "rejected"
    assert found[1].values["quantity"] == Decimal(7)


async def test_every_change_leaves_its_audit_and_the_audit_cannot_be_changed(
    conn: Connection,
) -> None:
    job, _ = await traded(conn)
    (trade,) = await all_of(conn)
    await queries.set_review_status(conn, [trade.id], "approved", who="user:ann")
    await queries.set_review_status(conn, [trade.id], "pending", who="user:ben")
    lines = await queries.list_audit(conn, trade.id)
    assert [(line.action, line.who) for line in lines] == [
        ("extracted", f"job:{job.id}"), ("approved", "user:ann"), ("reopened", "user:ben"),
    ]  # fmt: skip
    await write(conn, job)
    assert (await queries.list_audit(conn, trade.id))[-1].action == "replaced"
    with pytest.raises(psycopg.errors.RaiseException):
        await conn.execute("DELETE FROM trade_audit")


async def test_a_document_cannot_go_under_its_trade(conn: Connection) -> None:
    job, job_id = await traded(conn)
    await finish(conn, job)
    await conn.execute("UPDATE documents SET expires_at = now() - interval '1 day'")
    assert await sweep.expire_uploads(conn, DueWhen()) is None
    assert await sweep.expire_uploads(conn, DueWhen(pressed=True)) is None
    await jobs_queries.delete_job(conn, job_id)
    assert await documents_queries.drop_orphan_document(conn, job.document_id) is None
    (trade,) = await all_of(conn)
    assert trade.job_id is None
    with pytest.raises(psycopg.errors.RestrictViolation):
        await conn.execute("DELETE FROM documents")


async def test_a_document_whose_trades_are_gone_expires(conn: Connection) -> None:
    job, job_id = await traded(conn)
    await finish(conn, job)
    await conn.execute("UPDATE documents SET expires_at = now() - interval '1 day'")
    await write(conn, job, {"isin": None})
    await conn.execute("DELETE FROM trades")
    assert await sweep.expire_uploads(conn, DueWhen()) == SweptCount(1, 1000)
    assert (await the(conn, job_id)).status == "complete"


async def test_trades_of_a_desk_are_seen_by_those_who_may(conn: Connection) -> None:
    await traded(conn, owner=DESK)
    await traded(conn, owner=BOB)
    assert await all_of(conn) == []
    assert len(await all_of(conn, Owner(ANN, desks=("*",)))) == 1
    assert len(await all_of(conn, Owner(ANN, desks=("equities",)))) == 1
    assert await all_of(conn, Owner(ANN, desks=("bonds",))) == []
    assert owners.may_see(Owner(ANN, desks=("*",)), DESK)
    assert not owners.may_see(Owner(ANN, desks=("*",)), BOB)


async def test_filters_find_and_pages_go_on(conn: Connection) -> None:
    await traded(
        conn, {"name": "ALPHA", "trade_date": "2024-01-01", "confidence_score": 0.5},
        {"name": "BETA", "direction": "sell", "currency": "USD"}, {"name": "100%_\\"},
    )  # fmt: skip
    assert [t.values["name"] for t in await all_of(conn, text="alpha")] == ["ALPHA"]
    assert [t.values["name"] for t in await all_of(conn, text="100%_\\")] == ["100%_\\"]
    assert [t.values["name"] for t in await all_of(conn, direction="sell", currency="USD")] == [
        "BETA"
    ]
    assert [t.values["name"] for t in await all_of(conn, traded_until=date(2024, 1, 31))] == [
        "ALPHA"
    ]
    assert [t.values["name"] for t in await all_of(conn, below=Decimal("0.8"))] == ["ALPHA"]
    seen: list[str] = []
    after: Cursor | None = None
    while page := await queries.list_trades(conn, SELF, TradeFilter(), after=after, limit=1):
        seen += [str(trade.values["name"]) for trade in page]
        after = Cursor(page[-1].created_at, page[-1].id)
    assert sorted(seen) == ["100%_\\", "ALPHA", "BETA"]


async def test_totals_leave_out_what_was_rejected(conn: Connection) -> None:
    await traded(conn, {}, {"notional": "10"}, {"direction": "sell"})
    rejected = next(t for t in await all_of(conn) if t.values["notional"] == 10)
    await queries.set_review_status(conn, [rejected.id], "rejected", who="user:ann")
    found = await queries.sum_trades(conn, SELF, TradeFilter())
    assert [(t.currency, t.direction, t.trades, t.notional) for t in found] == [
        ("EUR", "buy", 1, Decimal("4310.00")), ("EUR", "sell", 1, Decimal("4310.00")),
    ]  # fmt: skip


async def test_there_is_no_trade_under_an_unknown_id(conn: Connection) -> None:
    assert await queries.find_trade(conn, TradeId(uuid4())) is None
    assert await queries.set_review_status(conn, [TradeId(uuid4())], "approved", who="x") == 0
