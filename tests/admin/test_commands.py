"""docmill admin and docmill audit, from a terminal on a running docmill."""

import asyncio

import pytest

from docmill.db.pool import Pool
from sites import Start, a_pdf, fail, upload
from terminal import Ran, Terminal

pytestmark = pytest.mark.anyio


async def test_an_administrator_works_from_a_terminal(
    start: Start, terminal: Terminal, pool: Pool
) -> None:
    async with start(auth_mode="local") as site, site.client() as client:
        person = terminal.with_(DOCMILL_URL=site.url)

        async def run(*words: str) -> Ran:
            return await asyncio.to_thread(person.run, *words)

        first = await upload(client, a_pdf("one"))
        await fail(site, first)
        second = await upload(client, a_pdf("two"))
        shown = await run("admin")
        assert shown.code == 0, shown.err
        assert "BAD_PDF" in shown.out
        assert "No job is lost" in shown.out
        assert (await run("admin", "--json")).json["failures"][0]["newest_job"] == first
        assert (await run("admin", "retry")).code == 2
        assert (await run("admin", "retry", "--code", "BAD_PDF")).out == "1 queued again.\n"
        assert (await run("admin", "cancel", second)).out == f"{second} is cancelled.\n"
        refused = await run("admin", "release", first)
        assert refused.code == 1
        assert "state doesn't allow" in refused.err
        acts = [one["action"] for one in (await run("audit", "list", "--json")).json]
        assert acts == ["job.cancel", "job.retry"]
        assert "job.cancel" in (await run("audit", "list")).out
        assert "2 rows, all as they were written" in (await run("audit", "verify")).out
        async with pool.connection() as conn:
            await conn.execute("ALTER TABLE audit_log DISABLE TRIGGER ALL")
            await conn.execute("UPDATE audit_log SET target = 'job:x' WHERE id = 1")
        found = await run("audit", "verify")
        assert (found.code, "Row 1" in found.out) == (1, True)
