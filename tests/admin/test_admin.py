"""An administrator sees everybody's work, sets it right, and every act is in the audit log."""

import asyncio
from collections.abc import AsyncGenerator
from decimal import Decimal
from typing import Any

import httpx2
import psycopg
import pytest

from accounts.test_keys import RULES, as_user
from docmill.admin.cost import CostLine, price_line
from docmill.core.faults import DocmillError
from docmill.db import audit
from docmill.db.pool import Pool
from docmill.services.breaker import ServiceGuard, report_breakers
from road import claim, finish
from sites import Site, Start, a_pdf, complete, fail, upload
from waits import until

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


async def test_who_only_looks_sees_everything_and_changes_nothing(
    site: Site, ann: httpx2.AsyncClient, root: httpx2.AsyncClient
) -> None:
    failed = await upload(ann)
    await fail(site, failed)
    async with site.client(headers=as_user("eye", admin="read")) as eye:
        assert (await eye.get("/api/admin/overview")).json()["failures"][0]["jobs"] == 1
        page = (await eye.get("/admin")).text
        assert failed in page
        assert 'method="post"' not in page
        assert 'method="post"' in (await root.get("/admin")).text
        for address in ("retention", "cost", "audit", "audit/verify"):
            assert (await eye.get(f"/api/admin/{address}")).status_code == 200, address
        for address in ("/admin/retention", "/admin/cost", "/admin/audit", "/api/sessions"):
            assert (await eye.get(address)).status_code == 200, address
        refused = [
            await act(eye, failed, "retry"),
            await eye.post("/api/admin/retry", json={}),
            await eye.post("/api/admin/sweep"),
            await eye.put("/api/admin/retention", json={"owner": "user:ann", "uploads_days": 1}),
            await eye.post("/api/admin/services/gateway/pause", json={"reason": "x"}),
            await eye.post("/api/admin/services/gateway/resume"),
            await eye.post("/admin/sweep"),
            await eye.post("/admin/retry"),
            await eye.delete("/api/sessions/x"),
        ]
        assert [one.status_code for one in refused] == [403] * len(refused)
    assert await list_acts(root) == []


SPEAKS = """
INSERT INTO workers (id, host, machine, pid, slots, pipelines, version)
VALUES ('w1', 'a', 'm', 1, 3, '{invoice}', '1');
INSERT INTO breakers (worker, service, state) VALUES ('w1', 'gateway', 'closed')
"""


async def test_a_paused_service_is_told_of_with_its_reason(
    ann: httpx2.AsyncClient, root: httpx2.AsyncClient, pool: Pool
) -> None:
    address = "/api/admin/services/gateway"
    wish = {"reason": "Moves house."}
    assert (await root.post(f"{address}/pause", json=wish)).status_code == 404
    async with pool.connection() as conn:
        for statement in SPEAKS.split(";"):
            await conn.execute(statement)
    assert (await root.post(f"{address}/pause", json={"reason": ""})).status_code == 400
    assert (await root.post(f"{address}/pause", json=wish)).json()["paused"] is True
    (line,) = (await see(root))["breakers"]
    assert (line["paused"], line["reason"], line["paused_by"]) == (
        True, "Moves house.", "user:root",
    )  # fmt: skip
    assert "is paused: Moves house." in (await ann.get("/queue")).text
    assert 'service_paused{service="gateway"} 1.0' in (await root.get("/metrics")).text
    guard = ServiceGuard("gateway")
    watching = asyncio.create_task(report_breakers(pool, "w1", [guard], every=0.01))
    await until(lambda: not guard.admits)
    with pytest.raises(DocmillError, match="paused"):
        await guard.through(asyncio.sleep)  # pyright: ignore[reportArgumentType]
    assert (await root.post(f"{address}/resume")).json()["paused"] is False
    await until(lambda: guard.admits)
    watching.cancel()
    assert "is paused" not in (await ann.get("/queue")).text
    assert await list_acts(root) == [
        ("service.pause", "service:gateway"), ("service.resume", "service:gateway"),
    ]  # fmt: skip


async def test_costs_are_summed_once_and_told_by_owner_and_pipeline(
    site: Site, ann: httpx2.AsyncClient, root: httpx2.AsyncClient, pool: Pool
) -> None:
    for name in ("one", "two", "three"):
        await complete(site, await upload(ann, a_pdf(name)))
    async with pool.connection() as conn:
        await conn.execute("UPDATE job_attempts SET cpu_ms = 1500, calls = 2")
        await conn.execute("UPDATE documents SET pages = 4")
        await conn.execute(
            "UPDATE job_attempts SET ended_at = ended_at - interval '5 hours' WHERE job_id IN ("
            "SELECT job_id FROM job_attempts LIMIT 2)"
        )
    for _ in range(2):  # from the sums the second time
        (line,) = (await root.get("/api/admin/cost")).json()["lines"]
        assert (line["owner"], line["pipeline"]) == ("user:ann", "extract")
        assert (line["cpu_seconds"], line["calls"], line["pages"], line["jobs"]) == (4.5, 6, 12, 3)
    async with pool.connection() as conn:
        row = await (await conn.execute("SELECT sum(attempts) FROM cost_hours")).fetchone()
        assert row == (2,)
    assert "user:ann" in (await root.get("/admin/cost")).text
    later = (await root.get("/api/admin/cost", params={"since": "2999-01-01T00:00:00Z"})).json()
    assert later["lines"] == []
    line = CostLine("a", "b", 1, 1, cpu_seconds=7200, pages=10, bytes=5 * 10**9, calls=3)
    prices = {"cpu_hour": Decimal("0.5"), "page": Decimal("0.1"), "gigabyte": Decimal(2)}
    assert price_line(line, prices) == Decimal(12)
    assert price_line(line, {}) is None


async def test_an_owners_period_and_a_sweep_are_set_by_an_administrator(
    ann: httpx2.AsyncClient, root: httpx2.AsyncClient
) -> None:
    wish = {"owner": "user:ann", "uploads_days": 90, "forever": ["results"]}
    assert (await root.put("/api/admin/retention", json=wish)).json()["set"] is True
    assert (await root.put("/api/admin/retention", json={**wish, "owner": "x"})).status_code == 400
    seen = (await root.get("/api/admin/retention")).json()
    (rule,) = seen["rules"]
    assert (rule["owner"], rule["uploads_days"], rule["results_forever"]) == ("user:ann", 90, True)
    assert seen["periods"]["uploads"][""] == 7
    assert (await root.post("/api/admin/sweep")).json() == {"asked": True}
    assert (await root.post("/api/admin/sweep")).json() == {"asked": False}
    page = (await root.get("/admin/retention")).text
    assert "Waits for a worker" in page
    assert (await ann.get("/admin/retention")).status_code == 403
    nothing = {"owner": "user:ann"}
    assert (await root.put("/api/admin/retention", json=nothing)).json()["set"] is False
    assert (await root.get("/api/admin/retention")).json()["rules"] == []
    assert await list_acts(root) == [
        ("retention.rule", "retention:user:ann"), ("retention.sweep", "retention"),
        ("retention.rule", "retention:user:ann"),
    ]  # fmt: skip
