"""A database that is sick: 503 while it lasts, and everything goes on when it is over."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from uuid import uuid4

import httpx2
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from bench.client import Client
from docmill.core import jobs
from docmill.db import pool as pools
from docmill.db.pool import Connection, Pool
from docmill.jobs import queries
from sites import Site, a_pdf, part, rows, upload

pytestmark = pytest.mark.anyio

Start = Callable[..., AbstractAsyncContextManager[Site]]
OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "FIRST_WAIT", 0.01)


async def set_read_only(url: str, *, on: bool) -> None:
    name = sql.Identifier(str(conninfo_to_dict(url)["dbname"]))
    switch = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}")
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        await conn.execute("SET default_transaction_read_only = off")
        await conn.execute(switch.format(name, sql.SQL("on" if on else "off")))
        await conn.execute(OTHERS)


async def test_a_read_only_database_is_503_for_writes_not_for_reads_and_then_over(
    client: httpx2.AsyncClient, site: Site, database_url: str
) -> None:
    job_id = await upload(client)
    await set_read_only(database_url, on=True)
    stored = site.stored()
    for answer in (
        await client.post("/api/upload", files=[part(a_pdf("2"))]),
        await client.post(f"/api/jobs/{job_id}/cancel"),
        await client.delete(f"/api/jobs/{job_id}"),
        await client.put("/api/profile", json={}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (503, "DATABASE_DOWN")
        assert answer.headers["content-type"] == "application/problem+json"
    assert (await client.get(f"/api/jobs/{job_id}")).status_code == 200
    ready = await client.get("/ready")
    assert (ready.status_code, ready.json()["parts"]["database"]) == (503, "READ_ONLY")
    assert site.stored() == stored
    await set_read_only(database_url, on=False)
    await upload(client, a_pdf("2"))


@pytest.mark.parametrize("number", ["53100", "57014", "57P01", "XX000"])
async def test_errors_of_a_sick_database_are_503(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    job_id = await upload(client)

    async def broken(conn: Connection, job_id: jobs.JobId) -> bool:
        code = sql.Literal(number)
        raised = sql.SQL("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = {}; END $$").format(code)
        await conn.execute(raised)
        return True

    with monkeypatch.context() as patch:
        patch.setattr(queries, "cancel_job", broken)
        answer = await client.post(f"/api/jobs/{job_id}/cancel")
    assert (answer.status_code, answer.json()["code"]) == (503, "DATABASE_DOWN")
    assert (await client.post(f"/api/jobs/{job_id}/cancel")).status_code == 200


async def test_a_bad_statement_of_ours_is_500(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = await upload(client)

    async def broken(conn: Connection, job_id: jobs.JobId) -> bool:
        await conn.execute("SELECT 1 FROM nowhere")
        return True

    monkeypatch.setattr(queries, "cancel_job", broken)
    answer = await client.post(f"/api/jobs/{job_id}/cancel")
    assert (answer.status_code, answer.json()["code"]) == (500, "UNKNOWN")


async def test_forty_uploads_with_one_key_give_one_job_and_no_503(
    client: httpx2.AsyncClient, site: Site, pool: Pool
) -> None:
    await upload(client, a_pdf("so that there is a session"))
    key = {"idempotency-key": str(uuid4())}
    answers = await asyncio.gather(
        *(client.post("/api/upload", files=[part(a_pdf("one"))], headers=key) for _ in range(40))
    )
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["jobId"] for answer in answers}) == 1
    assert (await rows(pool, "jobs"), len(site.stored())) == (2, 2)


async def test_a_thousand_status_requests_at_once_are_all_answered(
    client: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await upload(client)
    cookie = client.cookies["docmill_session"]
    crowd = [Client(site.port, cookie) for _ in range(1000)]
    asked = (one.get(f"/api/job-status/{job_id}") for one in crowd)
    statuses = [answer.status for answer in await asyncio.gather(*asked)]
    for one in crowd:
        one.close()
    assert set(statuses) == {200}
