"""An administrator sees everybody's work, sets it right, and every act is in the audit log."""

from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import psycopg
import pytest

from accounts.test_keys import RULES, as_user
from docmill.db import audit
from docmill.db.pool import Pool
from road import claim, finish
from sites import Site, Start, a_pdf, complete, fail, upload

pytestmark = pytest.mark.anyio

SOURCE = """
INSERT INTO sources (name, bucket, pipeline, owner)
VALUES ('mail', 's3://mail', 'extract', 'desk:fx')
"""


@pytest.fixture
async def site(start: Start) -> AsyncGenerator[Site]:
    async with start(auth_mode="both", tokens=RULES) as running_site:
        yield running_site


@pytest.fixture
async def ann(site: Site) -> AsyncGenerator[httpx2.AsyncClient]:
    async with site.client(headers=as_user("ann")) as client:
        yield client


@pytest.fixture
async def root(site: Site) -> AsyncGenerator[httpx2.AsyncClient]:
    async with site.client(headers=as_user("root", admin=True)) as client:
        yield client


async def see(root: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await root.get("/api/admin/overview")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def act(root: httpx2.AsyncClient, job_id: str, verb: str) -> httpx2.Response:
    return await root.post(f"/api/admin/jobs/{job_id}/{verb}")


async def list_acts(root: httpx2.AsyncClient) -> list[tuple[str, str]]:
    """Of the audit log, the oldest first: what, and to which thing."""
    entries = (await root.get("/api/admin/audit")).json()["entries"]
    return [(one["action"], one["target"]) for one in reversed(entries)]


async def test_the_overview_counts_everybodys_work(
    site: Site, ann: httpx2.AsyncClient, root: httpx2.AsyncClient, pool: Pool
) -> None:
    done = await upload(ann, a_pdf("one"))
    await complete(site, done)
    failed = await upload(ann, a_pdf("two"))
    await fail(site, failed)
    waiting = await upload(ann, a_pdf("three"))
    async with pool.connection() as conn:
        await conn.execute(SOURCE)
    seen = await see(root)
    (line,) = seen["pipelines"]
    assert (line["name"], line["waiting"], line["running"]) == ("extract", 1, 0)
    assert [one["name"] for one in seen["owners"]] == ["user:ann"]
    assert sum(one["complete"] for one in seen["minutes"]) == 1
    assert sum(one["failed"] for one in seen["minutes"]) == 1
    assert len(seen["minutes"]) == 60
    (failure,) = seen["failures"]
    assert (failure["code"], failure["jobs"], failure["newest_job"]) == ("BAD_PDF", 1, failed)
    assert [one["id"] for one in seen["jobs"]] == [waiting]
    assert seen["documents"]["states"] == {"failed": 1, "parsed": 1, "pending": 1}
    assert seen["storage"]["documents"] > 0
    assert [one["name"] for one in seen["sources"]] == ["mail"]
    assert seen["broken"] == []
    page = (await root.get("/admin")).text
    assert failed in page
    assert 'href="/admin"' in page
    assert 'href="/admin"' not in (await ann.get("/queue")).text
    assert (await ann.get("/admin")).status_code == 403


async def test_every_act_is_done_once_and_kept_in_the_audit_log(
    site: Site, ann: httpx2.AsyncClient, root: httpx2.AsyncClient, pool: Pool
) -> None:
    first, second = await upload(ann, a_pdf("one")), await upload(ann, a_pdf("two"))
    assert (await act(root, first, "retry")).status_code == 409
    assert (await root.post(f"/api/jobs/{second}/boost")).json()["job"]["priority"] == 50
    await fail(site, second)
    assert (await act(root, second, "retry")).json()["status"] == "queued"
    assert (await act(root, second, "cancel")).json()["status"] == "cancelled"
    await fail(site, first, "SERVICE_GONE")
    wish = {"code": "SERVICE_GONE", "pipeline": "study"}
    assert (await root.post("/api/admin/retry", json=wish)).json() == {"retried": 0}
    wish["pipeline"] = "extract"
    assert (await root.post("/api/admin/retry", json=wish)).json() == {"retried": 1}
    async with pool.connection() as conn:
        await conn.execute(SOURCE)
    assert (await root.post("/api/sources/mail/pause")).json()["paused"] is True
    assert await list_acts(root) == [
        ("job.boost", f"job:{second}"),
        ("job.retry", f"job:{second}"),
        ("job.cancel", f"job:{second}"),
        ("job.retry", f"job:{first}"),
        ("source.pause", "source:mail"),
    ]
    newest = (await root.get("/api/admin/audit?limit=2")).json()["entries"][1]
    assert newest["actor"] == "user:root"
    assert (newest["before"]["status"], newest["after"]["status"]) == ("failed", "queued")
    for address in ("/api/admin/audit", "/api/admin/audit/verify", "/admin/audit"):
        assert (await ann.get(address)).status_code == 403
    page = await root.get("/admin/audit")
    assert "job.cancel" in page.text


async def test_a_released_job_is_queued_again_and_its_worker_finds_the_door_closed(
    site: Site, ann: httpx2.AsyncClient, root: httpx2.AsyncClient, pool: Pool
) -> None:
    job_id = await upload(ann)
    assert (await act(root, job_id, "release")).status_code == 409
    async with pool.connection() as conn:
        (held,) = await claim(conn)
    assert (await see(root))["jobs"][0]["status"] == "processing"
    assert (await act(root, job_id, "release")).json()["status"] == "queued"
    async with pool.connection() as conn:
        assert not await finish(conn, held)
        (again,) = await claim(conn, worker="w2")
        assert again.claim == held.claim + 1
        assert await finish(conn, again)
    detail = (await ann.get(f"/api/jobs/{job_id}")).json()
    assert detail["status"] == "complete"
    assert (await see(root))["broken"] == []


BREAK = {
    "changed": "UPDATE audit_log SET actor = 'user:eve' WHERE id = 2",
    "taken out": "DELETE FROM audit_log WHERE id = 2",
    "last one taken out": "DELETE FROM audit_log WHERE id = 3",
}
ADD = """
SELECT audit_record('user:ann', 'job.cancel', 'job:' || n, '{}', '{}') FROM generate_series(1, 3) n
"""
OPEN_UP = "ALTER TABLE audit_log DISABLE TRIGGER ALL"


async def test_a_row_of_the_audit_log_that_is_changed_or_gone_is_found(
    root: httpx2.AsyncClient, pool: Pool
) -> None:
    async with pool.connection() as conn:
        await conn.execute(ADD)
    verdict = (await root.get("/api/admin/audit/verify")).json()
    assert (verdict["entries"], verdict["broken_at"]) == (3, None)
    for how, statement in BREAK.items():
        async with pool.connection() as conn:
            with pytest.raises(psycopg.errors.CheckViolation):
                async with conn.transaction():
                    await conn.execute(statement.encode())
            async with conn.transaction(force_rollback=True):
                await conn.execute(OPEN_UP)
                await conn.execute(statement.encode())
                found = await audit.verify(conn)
        assert found.broken_at == (3 if how.startswith("last") else 2), how


# A review has states of its own.
REVIEWED = """
INSERT INTO job_events (job_id, kind, meta)
VALUES (%s, 'reviewed', '{"from": "pending", "to": "approved"}')
"""
HURT = {
    "illegal": """
    INSERT INTO job_events (job_id, kind, meta)
    VALUES (%s, 'queued', '{"from": "complete", "to": "queued"}')""",
    "doubled": "INSERT INTO job_events (job_id, kind) VALUES (%s, 'complete')",
    "lost": "DELETE FROM results WHERE job_id = %s",
}


async def test_a_broken_promise_names_its_job(
    site: Site, ann: httpx2.AsyncClient, root: httpx2.AsyncClient, pool: Pool
) -> None:
    job_id = await upload(ann)
    await complete(site, job_id)
    async with pool.connection() as conn:
        await conn.execute(REVIEWED, (job_id,))
    assert (await see(root))["broken"] == []
    async with pool.connection() as conn:
        for statement in HURT.values():
            await conn.execute(statement.encode(), (job_id,))
    broken = (await see(root))["broken"]
    assert {one["rule"] for one in broken} == set(HURT)
    assert {one["job_id"] for one in broken} == {job_id}
    assert "Promises are broken" in (await root.get("/admin")).text
