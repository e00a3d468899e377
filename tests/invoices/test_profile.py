"""The owner's profile: told, checked, kept, and taken along by the jobs that come after."""

from collections.abc import AsyncGenerator

import httpx2
import pytest

from docmill.db.pool import Pool
from docmill.web import json_body
from sites import INVOICES, Site, Start, a_pdf, complete, upload, upload_to

pytestmark = pytest.mark.anyio

SIMON = {"tin": "01.234.567.8-901.000", "trx_code": "04", "rates": {"usd": "16250"}}


@pytest.fixture
async def site(start: Start) -> AsyncGenerator[Site]:
    async with start(offer=INVOICES) as running_site:
        yield running_site


async def options(pool: Pool, job_id: str) -> object:
    async with pool.connection() as conn:
        asked = await conn.execute("SELECT options FROM jobs WHERE id = %s", (job_id,))
        row = await asked.fetchone()
    assert row is not None
    return row[0]


async def test_a_profile_is_empty_until_it_is_told_and_then_kept(
    client: httpx2.AsyncClient, site: Site
) -> None:
    before = (await client.get("/api/profile")).json()
    assert before["tin"] == before["idtku"] == ""
    told = await client.put("/api/profile", json=SIMON)
    assert told.status_code == 200, told.text
    assert told.json() == before | SIMON | {"rates": {"USD": "16250"}}
    assert (await client.get("/api/profile")).json() == told.json()
    async with site.client() as another:
        assert (await another.get("/api/profile")).json() == before


async def test_telling_again_takes_the_place_of_what_was_told(client: httpx2.AsyncClient) -> None:
    await client.put("/api/profile", json=SIMON)
    await client.put("/api/profile", json={"country": "IDN"})
    found = (await client.get("/api/profile")).json()
    assert (found["tin"], found["rates"], found["country"]) == ("", {}, "IDN")


async def test_unknown_names_are_refused_by_name(client: httpx2.AsyncClient) -> None:
    answer = await client.put("/api/profile", json={"tin": SIMON["tin"], "npwp": "1", "nama": "x"})
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST")
    assert answer.json()["mistakes"][0]["message"].startswith("unknown: nama, npwp; allowed: tin")
    assert (await client.get("/api/profile")).json()["tin"] == ""


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ('{"tin": "123"}', "body.tin"),
        ('{"idtku": "0012345678901000"}', None),
        ('{"tin": "0012345678901000", "idtku": "9912345678901000000000"}', "body.idtku"),
        ('{"trx_code": "11"}', "body.trx_code"),
        ('{"opt": "C"}', "body.opt"),
        ('{"rates": {"USD": "much"}}', "body.rates.USD"),
        ('{"rates": {"\\u0000": "1"}}', "body"),
        ('{"rates": 5}', "body.rates"),
        ('["tin"]', "body"),
        ('{"tin": ', "body"),
    ],
)
async def test_what_can_not_be_meant_is_refused_with_its_place(
    client: httpx2.AsyncClient, body: str, at: str | None
) -> None:
    answer = await client.put("/api/profile", content=body)
    if at is None:
        assert answer.status_code == 200
        return
    assert answer.status_code == 400
    assert [mistake["at"] for mistake in answer.json()["mistakes"]] == [at]


async def test_a_page_of_another_site_can_not_tell_a_profile(client: httpx2.AsyncClient) -> None:
    await client.put("/api/profile", json=SIMON)
    answer = await client.put("/api/profile", json={}, headers={"origin": "https://evil.example"})
    assert (answer.status_code, answer.json()["code"]) == (403, "CROSS_SITE")


async def test_a_job_takes_the_profile_along_and_keeps_it(
    client: httpx2.AsyncClient, pool: Pool
) -> None:
    await client.put("/api/profile", json=SIMON)
    job_id = await upload_to(client, "invoice", a_pdf("one"))
    kept = {**SIMON, "rates": {"USD": "16250"}}
    assert await options(pool, job_id) == {"profile": kept}
    await client.put("/api/profile", json={})
    assert await options(pool, job_id) == {"profile": kept}


async def test_the_same_file_is_another_job_under_another_profile(
    client: httpx2.AsyncClient, pool: Pool
) -> None:
    plain = await upload_to(client, "invoice", a_pdf("two"))
    assert await options(pool, plain) == {}
    await client.put("/api/profile", json=SIMON)
    told = await upload_to(client, "invoice", a_pdf("two"))
    assert told != plain
    assert await upload_to(client, "invoice", a_pdf("two")) == told
    await client.put("/api/profile", json={})
    assert await upload_to(client, "invoice", a_pdf("two")) == plain


async def test_a_pipeline_without_mappings_does_not_care(
    client: httpx2.AsyncClient, pool: Pool
) -> None:
    await client.put("/api/profile", json=SIMON)
    assert await options(pool, await upload(client, a_pdf("three"))) == {}


async def test_a_shared_result_is_for_those_who_told_nothing(start: Start) -> None:
    async with start(offer=INVOICES, shared_dedupe=True) as site:
        found: list[str | None] = []
        for told in ({}, {}, SIMON):
            async with site.client() as client:
                await client.put("/api/profile", json=told)
                job_id = await upload_to(client, "invoice", a_pdf("shared"))
                await complete(site, job_id)
                found.append((await client.get(f"/api/jobs/{job_id}")).json()["duplicate_of"])
    assert [bool(original) for original in found] == [False, True, False]


async def test_a_profile_too_large_is_refused(client: httpx2.AsyncClient) -> None:
    answer = await client.put("/api/profile", json={"country": "x" * json_body.LARGEST})
    assert (answer.status_code, answer.json()["code"]) == (413, "TOO_LARGE")
