"""Direct uploads: a client puts the bytes into the store and then says so, whatever the store."""

import asyncio
import hashlib
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from docmill.core.documents import direct_key
from docmill.db.pool import Pool
from docmill.documents import direct
from docmill.storage import open_store
from emulators import BUCKET
from sites import PDF_FILE, Site, Start, a_pdf, part, rows
from storage.strict_gcs import strict_gcs
from waits import PATIENCE
from workers import swept

pytestmark = pytest.mark.anyio

KINDS = ["local", "s3", "azure", "gcs", "gcs_strict"]


def announce(data: bytes = PDF_FILE, **given: Any) -> dict[str, Any]:
    return {"filename": "a.pdf", "bytes": len(data), **given}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def begin(client: httpx2.AsyncClient, data: bytes = PDF_FILE, **given: Any) -> dict[str, Any]:
    answer = await client.post("/api/uploads", json=announce(data, **given))
    assert answer.status_code == 201, answer.text
    return answer.json()


async def put(told: dict[str, Any], data: bytes = PDF_FILE) -> httpx2.Response:
    """As anybody would, without a cookie."""
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as stranger:
        return await stranger.request(
            told["method"], told["url"], headers=told["headers"], content=data
        )


async def direct_upload(
    client: httpx2.AsyncClient, data: bytes = PDF_FILE, **given: Any
) -> httpx2.Response:
    told = await begin(client, data, **given)
    assert (await put(told, data)).is_success
    return await client.post(told["complete"])


@pytest.mark.parametrize("kind", KINDS)
async def test_a_file_put_into_the_store_becomes_the_job_an_upload_would_be(
    kind: str,
    start: Start,
    addresses: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with strict_gcs(tmp_path) as (cloud, credentials):
        if kind == "gcs_strict":
            monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(credentials))
            address = f"gs://{BUCKET}/{uuid4()}?endpoint={cloud.url}"
        elif kind == "local":
            address = str(tmp_path / "direct")
        else:
            url, _, options = addresses[kind].partition("?")
            address = f"{url}/{uuid4()}?{options}"
        store = open_store(address)
        async with start(store=store) as site, site.client() as client:
            told = await begin(client, sha256=sha256(PDF_FILE), pipeline="extract")
            assert (await client.post(told["complete"])).json()["code"] == "NOT_UPLOADED"
            assert (await put(told)).is_success
            answer = (await client.post(told["complete"])).json()
            assert (answer["success"], answer["outcome"]) == (True, "created")
            job = answer["job"]
            assert (job["sha256"], job["source"]) == (sha256(PDF_FILE), "upload")
            stored = b"".join([chunk async for chunk in store.chunks(job["upload_location"])])
            assert stored == PDF_FILE
            assert await store.head(direct_key_of(told)) is None
            again = (await client.post(told["complete"])).json()
            assert (again["jobId"], again["outcome"]) == (job["id"], "existing")
            same = await client.post("/api/upload", files=[part()], data={"pipeline": "extract"})
            assert same.json()["jobId"] == job["id"]
        await store.close()


def direct_key_of(told: dict[str, Any]) -> str:
    return direct_key(UUID(told["upload_id"]))


async def test_what_is_not_what_was_announced_is_refused_and_removed(
    site: Site, client: httpx2.AsyncClient, pool: Pool
) -> None:
    other = a_pdf("other")
    told = await begin(client, other, sha256=sha256(PDF_FILE))
    assert (await put(told, other)).is_success
    answer = await client.post(told["complete"])
    assert (answer.status_code, answer.json()["code"]) == (422, "WRONG_CONTENT")
    assert sha256(other) in answer.json()["reason"]
    words = b"no PDF at all"
    refused = await direct_upload(client, words, pipeline="extract")
    assert (refused.status_code, refused.json()["code"]) == (400, "NOT_PDF")
    told = await begin(client)
    assert (await put(told, PDF_FILE + b"x")).json()["code"] == "WRONG_CONTENT"
    assert (await put(told, PDF_FILE[:-1])).json()["code"] == "WRONG_CONTENT"
    await site.services.store.put(direct_key_of(told), PDF_FILE + b"x")  # as some stores let it
    assert (await client.post(told["complete"])).json()["code"] == "WRONG_CONTENT"
    assert (site.stored(), await rows(pool, "jobs")) == (["links/secret"], 0)


async def test_an_address_is_good_for_its_own_upload_its_size_and_its_time(
    site: Site, client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, other = await begin(client), await begin(client)
    for url in (
        told["url"].replace(told["upload_id"], other["upload_id"]),
        told["url"].replace(f"bytes={len(PDF_FILE)}", f"bytes={len(PDF_FILE) + 1}"),
        told["url"].replace("until=", "until=1"),
    ):
        refused = await put({**told, "url": url})
        assert (refused.status_code, refused.json()["code"]) == (403, "LINK_EXPIRED")
    monkeypatch.setattr("time.time", lambda: 1e10)
    assert (await put(told)).json()["code"] == "LINK_EXPIRED"
    assert site.stored() == ["links/secret"]


async def test_of_many_who_complete_at_once_all_get_one_job(
    client: httpx2.AsyncClient, pool: Pool
) -> None:
    told = await begin(client)
    assert (await put(told)).is_success
    answers = await asyncio.gather(*(client.post(told["complete"]) for _ in range(8)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["jobId"] for answer in answers}) == 1
    assert await rows(pool, "jobs") == 1


async def test_what_an_upload_refuses_is_refused_before_anything_is_put(
    site: Site, client: httpx2.AsyncClient
) -> None:
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"bytes": 52_428_801}, "TOO_LARGE"),
        ({"bytes": 0}, "BAD_REQUEST"),
        ({"pipeline": "none"}, "UNKNOWN_PIPELINE"),
        ({"mapping": "none"}, "UNKNOWN_MAPPING"),
        ({"sha256": "abc"}, "BAD_REQUEST"),
        ({"run_at": "2001-01-01T00:00:00Z"}, "BAD_REQUEST"),
        ({"after": ["x"]}, "BAD_REQUEST"),
        ({"key": "uploads/mine"}, "BAD_REQUEST"),
    )
    for given, code in wrong:
        answer = await client.post("/api/uploads", json={**announce(), **given})
        assert answer.json()["code"] == code, given
    told = await begin(client)
    async with site.client() as stranger:
        assert (await stranger.post(told["complete"])).status_code == 403
    unknown = await client.post(f"/api/uploads/{uuid4()}/complete")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "UPLOAD_NOT_FOUND")


async def test_uploads_are_counted_and_quotas_hold(start: Start) -> None:
    async with (
        start(uploads_per_minute=1, uploads_burst=2) as site,
        site.client() as client,
    ):
        await begin(client)
        await begin(client)
        refused = await client.post("/api/uploads", json=announce())
        assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMITED")


async def test_what_was_never_completed_is_swept(
    site: Site, client: httpx2.AsyncClient, pool: Pool
) -> None:
    told, done = await begin(client), await begin(client)
    for one in (told, done):
        assert (await put(one)).is_success
    assert (await client.post(done["complete"])).is_success
    assert (await put(done)).is_success  # once more, by the same address
    await swept(pool, site.services.store)
    assert await rows(pool, "uploads") == 2
    async with pool.connection() as conn:
        over = direct.LIFETIME + direct.GRACE
        await conn.execute("UPDATE uploads SET expires_at = expires_at - %s::interval", (over,))
    await swept(pool, site.services.store)
    assert await rows(pool, "uploads") == 0
    assert not [key for key in site.stored() if key.startswith("direct/")]
    await site.services.store.put("direct/aa/bb/late", b"came when nobody waited any more")
    await swept(pool, site.services.store)
    assert "direct/aa/bb/late" in site.stored()  # for an hour, as all that no row knows
