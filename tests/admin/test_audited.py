"""Every change that people make is in the audit log, with who, before and after, by any way."""

from typing import Any

import psycopg
import pytest

from accounts.test_keys import RULES, as_user
from docmill.db import audit
from docmill.db.pool import Pool
from sites import INVOICES, Site, Start, complete, upload
from terminal import Terminal

pytestmark = pytest.mark.anyio

ALLOW = ("127.0.0.0/8",)
EDIT = """
INSERT INTO review_revisions (job_id, revision, kind, path, before, after, made_by)
VALUES (%s, 1, 'edit', 'currency', '"EUR"', '"IDR"', 'user:bo')
"""


async def read_log(pool: Pool) -> list[audit.AuditEntry]:
    async with pool.connection() as conn:
        assert (await audit.verify(conn)).broken_at is None
        return [*reversed(await audit.list_entries(conn, limit=500))]


async def test_settings_keys_webhooks_and_mappings_leave_a_row_each(
    start: Start, pool: Pool, terminal: Terminal, database_url: str
) -> None:
    rules = {"auth_mode": "both", "tokens": RULES, "offer": INVOICES, "webhook_allow": ALLOW}
    async with start(**rules) as site:
        async with site.client(headers=as_user("ann")) as ann:
            await ann.patch("/api/settings", json={"tin": "01.234.567.8-901.000"})
            await ann.patch("/api/settings", json={"tin": None, "review_threshold": 0.5})
            await ann.patch("/api/settings", json={"review_threshold": 0.5})
            key = (await ann.post("/api/keys", json={"name": "import"})).json()
            await ann.delete(f"/api/keys/{key['id']}")
            told = await ann.post(
                "/api/webhooks", json={"url": "http://127.0.0.1:9/in?token=canary"}
            )
            hook = told.json()
            await ann.post(f"/api/webhooks/{hook['id']}/rotate")
            await ann.delete(f"/api/webhooks/{hook['id']}")
            gone = await upload(ann)
            await ann.delete(f"/api/jobs/{gone}")
        async with site.client(headers=as_user("root", admin=True)) as root:
            way = "/api/mappings/ubl_invoice_v1/assignments"
            await root.post(way, json={"percent": 10})
            await root.delete(way)
    terminal.with_(DATABASE_URL=database_url).run("sessions", "end", "--user", "ann", "--keys")
    log = await read_log(pool)
    expected = [
        ("user:ann", "settings.added", "settings:user:ann"),
        ("user:ann", "settings.changed", "settings:user:ann"),
        ("user:ann", "key.added", f"key:{key['id']}"),
        ("user:ann", "key.changed", f"key:{key['id']}"),
        ("user:ann", "webhook.added", f"webhook:{hook['id']}"),
        ("user:ann", "webhook.changed", f"webhook:{hook['id']}"),
        ("user:ann", "webhook.deleted", f"webhook:{hook['id']}"),
        ("user:ann", "job.deleted", f"job:{gone}"),
        ("user:root", "assignment.added", "assignment:ubl_invoice_v1"),
        ("user:root", "assignment.changed", "assignment:ubl_invoice_v1"),
    ]
    found = [(one.actor, one.action, one.target) for one in log]
    # Profile and preferences are changed by two statements, each with a row.
    assert [*dict.fromkeys(one for one in found if one[1] != "session.end")] == expected
    assert found[-1][1:] == ("session.end", "owner:user:ann")
    assert found[-1][0].startswith("operator:")
    by_action = {(one.action, one.target): one for one in log}
    first, second = [one for one in log if one.action == "settings.changed"]
    assert first.before["profile"] == {"tin": "01.234.567.8-901.000"}
    assert first.after["profile"] == {}
    assert second.after["preferences"]["review_threshold"] == 0.5
    assert by_action["key.changed", f"key:{key['id']}"].after["revoked_at"]
    everything = repr(log)
    for secret in ("canary", hook["secret"], key["key"]):
        assert secret not in everything


async def test_reviews_of_invoices_and_trades_leave_a_row_each(pool: Pool, site: Site) -> None:
    """Also what is done by SQL: the row is the database's own."""
    async with site.client() as client:
        job_id = await upload(client)
        await complete(site, job_id)
        async with pool.connection() as conn:
            await conn.execute("INSERT INTO reviews (job_id) VALUES (%s)", (job_id,))
            await conn.execute(EDIT, (job_id,))
    (row,) = await read_log(pool)
    assert (row.actor, row.action, row.target) == ("user:bo", "review.edit", f"job:{job_id}")
    assert row.before == {"path": "currency", "value": "EUR"}
    assert row.after == {"path": "currency", "value": "IDR", "revision": 1}


TAMPER: dict[str, Any] = {
    "changed": "UPDATE audit_log SET actor = 'user:eve' WHERE id = 2",
    "removed": "DELETE FROM audit_log WHERE id = 2",
    "removed at the end": "DELETE FROM audit_log WHERE id = 3",
}


@pytest.mark.parametrize("way", TAMPER)
async def test_a_row_changed_or_removed_past_the_triggers_is_found(
    pool: Pool, database_url: str, terminal: Terminal, way: str
) -> None:
    async with pool.connection() as conn:
        for number in range(3):
            done = audit.AuditedAction("user:ann", "job.retry", f"job:{number}")
            await audit.record(conn, done, before={"number": number}, after={})
    with psycopg.connect(database_url) as conn:
        with pytest.raises(psycopg.errors.CheckViolation), conn.transaction():
            conn.execute(TAMPER[way])
        conn.execute("SET session_replication_role = replica")  # as a superuser may
        conn.execute(TAMPER[way])
    async with pool.connection() as conn:
        assert (await audit.verify(conn)).broken_at == (3 if way == "removed at the end" else 2)


async def test_two_who_change_at_once_wait_and_do_not_deadlock(pool: Pool) -> None:
    """The lock on the end of the chain is taken when they commit, after all others."""
    async with pool.connection() as one, pool.connection() as other:
        await one.execute("INSERT INTO owners (owner, learning) VALUES ('user:a', false)")
        await other.execute("INSERT INTO owners (owner, learning) VALUES ('user:b', false)")
        await one.execute("UPDATE owners SET profile = '{\"tin\": \"1\"}' WHERE owner = 'user:a'")
        await one.commit()
        await other.commit()
    assert {one.target for one in await read_log(pool)} == {"settings:user:a", "settings:user:b"}
