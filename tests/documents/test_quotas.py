"""Quotas: how much one owner may have, with an answer that says what to do."""

import asyncio

import pytest

from docmill.web.config import QuotaConfig
from sites import PDF_FILE, Start, a_pdf, complete, part, rows, upload

pytestmark = pytest.mark.anyio


async def test_without_quotas_there_is_no_limit_and_the_account_says_what_one_has(
    start: Start,
) -> None:
    async with start() as site, site.client() as client:
        for number in range(3):
            await upload(client, a_pdf(f"file {number}"))
        who = (await client.get("/api/account")).json()
        assert who["files"] == {"used": 3, "limit": 0}
        assert who["jobs"] == {"used": 3, "limit": 0}
        assert who["bytes"]["used"] > 1000


async def test_one_file_more_than_allowed_is_refused_until_one_goes(start: Start) -> None:
    async with (
        start(quotas=QuotaConfig(files=2)) as site,
        site.client() as client,
        site.client() as other,
    ):
        first = await upload(client, a_pdf("one"))
        await upload(client, a_pdf("two"))
        answer = await client.post("/api/upload", files=[part(a_pdf("three"))])
        told = answer.json()
        assert (answer.status_code, told["code"]) == (507, "QUOTA_FILES")
        assert (told["limit"], told["used"], told["retryable"]) == (2, 2, False)
        assert "Delete jobs" in told["detail"]
        await upload(other)  # each owner has their own
        await client.post(f"/api/jobs/{first}/cancel")
        assert (await client.delete(f"/api/jobs/{first}")).status_code == 204
        await upload(client, a_pdf("three"))


async def test_bytes_are_counted_with_the_file_that_comes(start: Start) -> None:
    async with (
        start(quotas=QuotaConfig(bytes=2 * len(PDF_FILE) - 1)) as site,
        site.client() as client,
    ):
        await upload(client)
        answer = await client.post("/api/upload", files=[part(PDF_FILE + b" ")])
        assert (answer.status_code, answer.json()["code"]) == (507, "QUOTA_BYTES")
        assert len([name for name in site.stored() if name.startswith("uploads/")]) == 1
        assert (await client.post("/api/upload", files=[part()])).status_code == 200  # the same


async def test_jobs_that_wait_are_limited_and_one_may_come_when_one_has_ended(
    start: Start,
) -> None:
    async with start(quotas=QuotaConfig(jobs=1)) as site, site.client() as client:
        first = await upload(client, a_pdf("one"))
        answer = await client.post("/api/upload", files=[part(a_pdf("two"))])
        assert (answer.status_code, answer.json()["code"]) == (429, "QUOTA_JOBS")
        assert answer.headers["retry-after"] == "30"
        await complete(site, first)
        await upload(client, a_pdf("two"))


async def test_many_at_once_get_no_more_than_the_quota(start: Start) -> None:
    async with start(quotas=QuotaConfig(files=5)) as site, site.client() as client:
        await client.get("/api/jobs")
        answers = await asyncio.gather(
            *(client.post("/api/upload", files=[part(a_pdf(f"n {n}"))]) for n in range(15))
        )
        good = [answer for answer in answers if answer.status_code == 200]
        assert len(good) == 5
        assert await rows(site.services.pool, "documents") == 5
