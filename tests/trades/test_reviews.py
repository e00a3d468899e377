"""Trades edited, added, rejected and approved over HTTP, each change with its author."""

import csv
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from docmill.db.pool import Connection, Pool
from ledger import TRADES, send_note, traded, write
from sites import Site, running

pytestmark = pytest.mark.anyio

RULE = "rule: every needed value at 0.80 or surer"
DOUBTFUL = {"needs_review": True, "quantity": "26"}


@pytest.fixture
async def site(pool: Pool, tmp_path: Path) -> AsyncIterator[Site]:
    async with running(pool, tmp_path, offer=TRADES) as opened:
        yield opened


async def sent(site: Site, client: httpx2.AsyncClient, *given: dict[str, Any]) -> str:
    """The address of the trades of an uploaded note whose run came to its end."""
    return f"/api/documents/{await send_note(site, client, *given)}/trades"


async def read(client: httpx2.AsyncClient, address: str) -> dict[str, Any]:
    answer = await client.get(address)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def change(
    client: httpx2.AsyncClient, address: str, *given: tuple[str, Any]
) -> httpx2.Response:
    revision = (await read(client, address))["revision"]
    edits = [{"path": path, "value": value} for path, value in given]
    return await client.post(f"{address}/edits", json={"revision": revision, "edits": edits})


async def test_a_note_says_what_to_look_at(site: Site, client: httpx2.AsyncClient) -> None:
    note = await read(client, await sent(site, client, DOUBTFUL, {"isin": "US0378331005"}))
    assert note["reasons"] == {"lines[0].notional": "Quantity times price is 4,482.4"}
    assert note["review"] == ["lines[0].notional"]
    assert note["checks"]["lines[0].notional"] == "broken"
    assert (note["status"], len(note["trades"])) == ("pending", 2)
    assert [one["approved_by"] for one in note["trades"]] == [None, RULE]
    assert note["data"]["evidence"]["lines[0].quantity"]["box"] == [1, 2, 3, 4]


async def test_a_trade_without_a_name_shows_the_file_it_came_from(
    site: Site, client: httpx2.AsyncClient
) -> None:
    nameless = {"name": None, "isin": None, "cusip": None, "ticker": None, "counterparty": None}
    (trade,) = (await read(client, await sent(site, client, nameless)))["trades"]
    row = f'<tr id="trade-{trade["id"]}"'
    shown = (await client.get("/trades")).text.partition(row)[2].partition("</tr>")[0]
    assert f'<span class="meta">{trade["original_filename"]}</span>' in shown


async def test_what_was_checked_is_no_more_in_doubt_until_it_is_edited(
    site: Site, client: httpx2.AsyncClient
) -> None:
    address = await sent(site, client, DOUBTFUL)
    seen = (await read(client, address))["revision"]
    body = {"revision": seen, "paths": ["lines[0].notional"]}
    answer = await client.post(f"{address}/checked", json=body)
    assert answer.status_code == 200, answer.text
    note = await read(client, address)
    assert (note["review"], note["status"]) == ([], "pending")
    assert note["revision"] > seen
    kinds = [(step["kind"], step["path"]) for step in note["history"]]
    assert ("checked", "lines[0].notional") in kinds
    late = await client.post(f"{address}/checked", json=body)
    assert (late.status_code, late.json()["code"]) == (409, "REVIEW_CONFLICT")
    await change(client, address, ("lines[0].notional", "4483"))
    assert (await read(client, address))["review"] == ["lines[0].notional"]


async def test_a_value_that_is_not_there_is_not_checked(
    site: Site, client: httpx2.AsyncClient
) -> None:
    address = await sent(site, client, DOUBTFUL)
    body = {"revision": (await read(client, address))["revision"], "paths": list[str]()}
    for path in ("lines[0].cusip", "lines[0]", "lines[9].price", "price"):
        answer = await client.post(f"{address}/checked", json={**body, "paths": [path]})
        assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST")


async def test_an_edit_is_kept_with_what_was_there_before(
    site: Site, client: httpx2.AsyncClient
) -> None:
    address = await sent(site, client, DOUBTFUL)
    answer = await change(client, address, ("lines[0].quantity", "25"))
    note = answer.json()
    assert (note["review"], note["trades"][0]["quantity"]) == ([], "25")
    step = note["history"][-1]
    assert (step["kind"], step["path"], step["before"], step["after"]) == (
        "edit", "lines[0].quantity", "26", "25",
    )  # fmt: skip
    assert step["by"] == note["trades"][0]["edited_by"]
    seen = {"revision": note["revision"]}
    after = (await client.post(f"{address}/approve", json=seen)).json()
    assert after["status"] == "approved"
    assert after["trades"][0]["approved_by"] == step["by"]


async def test_a_check_keeps_nothing(site: Site, client: httpx2.AsyncClient) -> None:
    address = await sent(site, client, DOUBTFUL)
    edits = [
        {"path": "lines[0].quantity", "value": "25"},
        {"path": "lines[0].isin", "value": "DE0007236102"},
        {"path": "lines[7].isin", "value": None},
    ]
    told = (await client.post(f"{address}/check", json={"edits": edits})).json()
    assert told["review"] == []
    assert "check digit" in told["mistakes"]["lines[0].isin"]
    assert "not there" in told["mistakes"]["lines[7].isin"]
    assert (await read(client, address))["trades"][0]["quantity"] == "26"


async def test_one_wrong_value_keeps_all_from_being_kept(
    site: Site, client: httpx2.AsyncClient
) -> None:
    address = await sent(site, client, DOUBTFUL)
    answer = await change(
        client, address, ("lines[0].quantity", "25"), ("lines[0].currency", "euros")
    )
    assert answer.status_code == 400
    assert answer.json()["mistakes"][0]["at"] == "body.edits.1.value"
    assert (await read(client, address))["trades"][0]["quantity"] == "26"


async def test_trades_are_added_and_rejected(site: Site, client: httpx2.AsyncClient) -> None:
    address = await sent(site, client, DOUBTFUL)
    given = {"name": "ALPHA", "quantity": "1000", "price": "2,50", "notional": "2.500,00"}
    note = (await change(client, address, ("lines[1]", given), ("lines[0]", None))).json()
    (added,) = note["trades"]
    assert (added["name"], added["quantity"], added["direction"]) == ("ALPHA", "1000", "buy")
    assert set(note["reasons"]) == {
        "lines[0].currency",
        "lines[0].trade_date",
        "lines[0].direction",
    }
    (gone,) = note["rejected"]
    assert (gone["review_status"], gone["quantity"]) == ("rejected", "26")
    answer = await client.post(f"/api/trades/{gone['id']}/reopen")
    assert answer.json()["review_status"] == "pending"


async def test_a_trade_is_added_by_programs(site: Site, client: httpx2.AsyncClient) -> None:
    address = await sent(site, client)
    assert (await client.post(address, json={"isin": "US0378331005"})).status_code == 400
    wrong = await client.post(address, json={"direction": "sell", "isin": "US0378331006"})
    assert wrong.json()["mistakes"] == [
        {"at": "body.isin", "message": "is no ISIN: its check digit does not fit"}
    ]
    added = (await client.post(address, json={"direction": "sell", "name": "APPLE"})).json()
    assert (added["review_status"], added["audit"][0]["action"]) == ("pending", "added")
    assert added["doubts"]["quantity"] == "Not found on the page"


async def test_one_trade_is_edited_and_what_was_approved_is_open_again(
    site: Site, client: httpx2.AsyncClient
) -> None:
    await sent(site, client)
    (trade,) = (await read(client, "/api/trades"))["trades"]
    assert trade["approved_by"] == RULE
    address = f"/api/trades/{trade['id']}"
    edited = (await client.patch(address, json={"price": "100", "counterparty": None})).json()
    assert (edited["price"], edited["review_status"], edited["approved_by"]) == (
        "100", "pending", None,
    )  # fmt: skip
    assert edited["doubts"] == {"notional": "Quantity times price is 2,500"}
    assert [line["action"] for line in edited["audit"]] == ["extracted", "edited", "reopened"]
    assert edited["audit"][1]["before"] == {"price": 172.4}
    assert edited["audit"][1]["after"] == {"price": 100}
    same = (await client.patch(address, json={"price": "100"})).json()
    assert len(same["audit"]) == 3, "what changes nothing leaves no trace"
    for body in ({"colour": "red"}, {"quantity": "-1"}, {"direction": None}, {"price": 5}):
        assert (await client.patch(address, json=body)).status_code == 400, body


async def test_who_comes_second_is_told_what_came_first(
    site: Site, client: httpx2.AsyncClient
) -> None:
    address = await sent(site, client, DOUBTFUL)
    revision = (await read(client, address))["revision"]
    await change(client, address, ("lines[0].quantity", "25"))
    late = {"revision": revision, "edits": [{"path": "lines[0].price", "value": "1"}]}
    answer = await client.post(f"{address}/edits", json=late)
    assert answer.status_code == 409
    (step,) = answer.json()["changes"]
    assert (step["path"], step["after"]) == ("lines[0].quantity", "25")
    late = {"revision": revision, "reason": "twice"}
    assert (await client.post(f"{address}/reject", json=late)).status_code == 409


async def test_a_note_is_rejected_with_a_reason(site: Site, client: httpx2.AsyncClient) -> None:
    address = await sent(site, client, DOUBTFUL, {"isin": "US0378331005"})
    revision = (await read(client, address))["revision"]
    body = {"revision": revision, "reason": "a copy"}
    note = (await client.post(f"{address}/reject", json=body)).json()
    assert (note["status"], note["trades"], len(note["rejected"])) == ("rejected", [], 2)
    assert {step["reason"] for step in note["history"][-2:]} == {"a copy"}


async def test_others_can_not_edit(site: Site, client: httpx2.AsyncClient) -> None:
    address = await sent(site, client)
    (trade,) = (await read(client, "/api/trades"))["trades"]
    async with site.client() as stranger:
        assert (await stranger.get(address)).status_code == 403
        assert (await stranger.post(address, json={"direction": "buy"})).status_code == 403
        body = {"revision": 1, "edits": [{"path": "lines[0]", "value": None}]}
        assert (await stranger.post(f"{address}/edits", json=body)).status_code == 403
        answer = await stranger.patch(f"/api/trades/{trade['id']}", json={"price": "1"})
        assert answer.status_code == 403


async def test_the_export_and_the_queue_follow(site: Site, client: httpx2.AsyncClient) -> None:
    address = await sent(site, client, {**DOUBTFUL, "counterparty": "Nordbank"})
    await change(client, address, ("lines[0].notional", "4482.40"))
    table = (await client.get("/api/trades/export.csv")).text
    (row,) = csv.DictReader(io.StringIO(table))
    assert (row["notional"], row["approved_by"]) == ("4482.40", "")
    (job,) = (await read(client, "/api/jobs"))["jobs"]
    about = job["summary"]
    assert (about["title"], about["amount"], about["check"]) == ("Nordbank", "4482.40", 1)
    (trade,) = (await read(client, "/api/trades"))["trades"]
    await client.post(f"/api/trades/{trade['id']}/approve")
    (job,) = (await read(client, "/api/jobs"))["jobs"]
    assert (job["summary"]["state"], job["summary"]["check"]) == ("approved", 0)


async def test_what_was_edited_survives_another_reading(conn: Connection) -> None:
    job, _ = await traded(conn, DOUBTFUL)
    await conn.execute("UPDATE trades SET quantity = 25, edited_by = 'user:ann', edited_at = now()")
    await write(conn, job, DOUBTFUL, {"isin": "US0378331005", "position": 1})
    rows = await (await conn.execute("SELECT quantity FROM trades ORDER BY position")).fetchall()
    assert [int(row[0]) for row in rows] == [25, 25]


async def test_the_database_lets_nothing_be_approved_without_a_word(conn: Connection) -> None:
    await traded(conn, {"approved_by": None}, {"isin": "US0378331005"})
    rows = await (
        await conn.execute("SELECT review_status, approved_by FROM trades ORDER BY position")
    ).fetchall()
    assert rows == [("pending", None), ("approved", RULE)]
    await conn.execute("ALTER TABLE trades DISABLE TRIGGER trades_approval")
    with pytest.raises(psycopg.errors.CheckViolation):
        await conn.execute("UPDATE trades SET approved_by = NULL WHERE review_status = 'approved'")
