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
        await fail(site, first)
        assert (await run("admin", "reprocess")).code == 2
        reads = "documents are read again, each by a new job.\n"
        assert (await run("admin", "reprocess", "--code", "BAD_PDF")).out == f"1 {reads}"
        assert (await run("admin", "reprocess", "--code", "BAD_PDF")).out == f"0 {reads}"
        refused = await run("admin", "pause", "gatway", "--reason", "x")
        assert (refused.code, "No worker asks such a service" in refused.err) == (1, True)
        assert (await run("admin", "keep", "ann", "--uploads-days", "9")).code == 2
        refused = await run("admin", "keep", "user:ann", "--uploads-days", "9", "--pipeline", "x")
        assert (refused.code, "no such pipeline" in refused.err) == (1, True)
        refused = await run("admin", "release", first)
        assert refused.code == 1
        assert "state doesn't allow" in refused.err
        acts = [one["action"] for one in (await run("audit", "list", "--json")).json]
        assert acts == ["job.reprocess", "job.cancel", "job.retry"]
        assert "job.cancel" in (await run("audit", "list")).out
        assert "3 rows, all as they were written" in (await run("audit", "verify")).out
        async with pool.connection() as conn:
            await conn.execute("ALTER TABLE audit_log DISABLE TRIGGER ALL")
            await conn.execute("UPDATE audit_log SET target = 'job:x' WHERE id = 1")
        found = await run("audit", "verify")
        assert (found.code, "Row 1" in found.out) == (1, True)
