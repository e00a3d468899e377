"""Wrong bytes are never sent: what is damaged is refused in every place that reads it."""

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import httpx2
import pytest

from docmill.db.pool import Pool
from sites import PDF_FILE, Site, complete, upload
from waits import PATIENCE

pytestmark = pytest.mark.anyio

Start = Callable[..., AbstractAsyncContextManager[Site]]
DATA = b'{"pages": [], "text": "' + b"hello " * 2000 + b'"}'


def halved(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def altered(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def lengthened(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"x")


DAMAGES = pytest.mark.parametrize("damage", [halved, emptied, altered, lengthened])


def stored(site: Site, prefix: str) -> Path:
    (key,) = [key for key in site.stored() if key.startswith(prefix)]
    return site.root / key


async def refusals(client: httpx2.AsyncClient) -> float:
    text = (await client.get("/metrics")).text
    found = re.search(r"^damaged_objects_total ([0-9.]+)$", text, re.MULTILINE)
    assert found, text
    return float(found[1])


async def ask_all(client: httpx2.AsyncClient, *paths: str) -> list[tuple[int, str]]:
    answers = [await client.get(path) for path in paths]
    return [(answer.status_code, answer.json()["code"]) for answer in answers]


@DAMAGES
async def test_a_damaged_result_is_refused_wherever_it_is_read(
    client: httpx2.AsyncClient, site: Site, damage: Callable[[Path], None]
) -> None:
    job_id = await upload(client)
    await complete(site, job_id, DATA)
    damage(stored(site, "results/"))
    before = await refusals(client)
    paths = (
        f"/api/jobs/{job_id}/download",
        f"/api/jobs/{job_id}/download?form=data",
        f"/api/jobs/{job_id}/download?form=markdown",
        f"/api/job-status/{job_id}",
        f"/api/jobs/{job_id}/download?form=text",
    )
    assert await ask_all(client, *paths) == [(500, "DAMAGED")] * 5
    headers = {"accept-encoding": "identity", "range": "bytes=0-5"}
    plain = await client.get(paths[0], headers=headers)
    assert (plain.status_code, plain.headers["content-type"]) == (500, "application/problem+json")
    assert plain.json()["error"] == "The stored file is damaged"
    assert "docmill doctor --deep" in plain.json()["detail"]
    page = await client.get(f"/jobs/{job_id}")
    assert page.status_code == 200
    assert "The stored file is damaged" in page.text
    assert await refusals(client) == before + 7
    assert (await client.get(f"/api/jobs/{job_id}")).json()["download_count"] == 0


@DAMAGES
async def test_a_damaged_original_is_refused_wherever_it_is_read(
    client: httpx2.AsyncClient, site: Site, damage: Callable[[Path], None]
) -> None:
    job_id = await upload(client)
    document = (await client.get("/api/documents")).json()["documents"][0]["document_id"]
    link = (await client.get(f"/api/documents/{document}/pdf")).json()["pdf_url"]
    assert (await client.get(link)).content == PDF_FILE
    damage(stored(site, "uploads/"))
    paths = (
        f"/api/jobs/{job_id}/original",
        f"/api/jobs/{job_id}/pages/1.png",
        f"/api/documents/{document}/pdf",
        link,
    )
    assert await ask_all(client, *paths) == [(500, "DAMAGED")] * 4


async def test_what_was_damaged_may_be_uploaded_again_and_is_a_new_job(
    client: httpx2.AsyncClient, site: Site
) -> None:
    first = await upload(client)
    assert await upload(client) == first
    await complete(site, first)
    altered(stored(site, "results/"))
    assert (await client.get(f"/api/jobs/{first}/download")).status_code == 500
    second = await upload(client)
    assert second != first


@pytest.mark.parametrize(("prefix", "of"), [("results/", "download"), ("uploads/", "original")])
async def test_what_is_missing_may_be_uploaded_again_and_is_a_new_job(
    client: httpx2.AsyncClient, site: Site, prefix: str, of: str
) -> None:
    """The answer says: re-upload to regenerate."""
    first = await upload(client)
    await complete(site, first)
    stored(site, prefix).unlink()
    assert await ask_all(client, f"/api/jobs/{first}/{of}") == [(404, "EXPIRED")]
    assert await upload(client) != first


async def test_a_range_is_answered_with_the_whole_which_is_checked(
    client: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await upload(client)
    await complete(site, job_id, DATA)
    headers = {"range": "bytes=5-9", "if-none-match": "*", "accept-encoding": "identity"}
    answer = await client.get(f"/api/jobs/{job_id}/download", headers=headers)
    assert (answer.status_code, answer.content) == (200, DATA)


@pytest.fixture
async def forgetful(start: Start) -> AsyncGenerator[Site]:
    async with start(delete_on_download=True) as site:
        yield site


async def test_a_result_is_gone_however_fast_its_client_is(forgetful: Site, pool: Pool) -> None:
    """A client that closes with the last byte, as browsers do."""
    async with forgetful.client() as client:
        cookie = ""
        for number in range(15):
            job_id = await upload(client, PDF_FILE + f"%{number}".encode())
            cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
            await complete(forgetful, job_id, DATA * (1 + number))
            await snatch(forgetful.port, f"/api/jobs/{job_id}/download", cookie)
    async with asyncio.timeout(PATIENCE):
        while [key for key in forgetful.stored() if key.startswith("results/")]:
            await asyncio.sleep(0.05)
    async with pool.connection() as conn:
        row = await (await conn.execute("SELECT count(*) FROM results")).fetchone()
    assert row == (0,)


@pytest.mark.parametrize("form", ["markdown", "text"])
async def test_a_result_written_anew_goes_with_its_first_download_too(
    forgetful: Site, form: str
) -> None:
    async with forgetful.client() as client:
        job_id = await upload(client)
        await complete(forgetful, job_id, DATA)
        answer = await client.get(f"/api/jobs/{job_id}/download?form={form}")
        assert answer.status_code == 200
        assert int(answer.headers["content-length"]) == len(answer.content)
        async with asyncio.timeout(PATIENCE):
            while [key for key in forgetful.stored() if key.startswith("results/")]:
                await asyncio.sleep(0.05)
        assert await ask_all(client, f"/api/jobs/{job_id}/download") == [(404, "EXPIRED")]


async def snatch(port: int, path: str, cookie: str) -> bytes:
    """Reads exactly as much as was announced, and is gone."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    assert b" 200 " in head.splitlines()[0], head
    (length,) = re.findall(rb"content-length: (\d+)", head.lower())
    body = await reader.readexactly(int(length))
    writer.transport.abort()
    return body


async def test_an_aborted_download_keeps_the_result(forgetful: Site, pool: Pool) -> None:
    big = b'"' + os.urandom(48 << 20).hex().encode() + b'"'
    async with forgetful.client() as client:
        job_id = await upload(client)
        await complete(forgetful, job_id, big)
        url = f"/api/jobs/{job_id}/download"
        async with pool.connection() as conn:
            await conn.execute("UPDATE jobs SET expires_at = now() + interval '7 days'")
        async with client.stream("GET", url, headers={"accept-encoding": "identity"}) as answer:
            async for _ in answer.aiter_raw():
                break
        head = await client.head(url)
        assert head.status_code in {200, 405}
        async with pool.connection() as conn:
            query = "SELECT expires_at > now() + interval '1 day' FROM jobs"
            assert await (await conn.execute(query)).fetchone() == (True,)
        whole = await client.get(url, headers={"accept-encoding": "identity"})
        assert whole.content == big
        async with asyncio.timeout(PATIENCE):
            while (await client.get(url)).status_code == 200:
                await asyncio.sleep(0.05)
