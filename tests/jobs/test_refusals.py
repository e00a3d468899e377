"""Uploads that may not enter: the answer says why, and nothing of them is left."""

import asyncio
import gc
import io
import shutil
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from docmill.app import find_catalog
from docmill.db.pool import Pool
from docmill.storage import retry
from docmill.web import middleware, server
from sites import PDF_FILE, Site, part, rows, upload
from waits import PATIENCE, until

pytestmark = pytest.mark.anyio

Start = Callable[..., AbstractAsyncContextManager[Site]]
TEXT = b"plain words, whatever the name says"


def unnamed(site: Site) -> list[str]:
    """Files of the store that are open in this process and have no name."""
    links: list[str] = []
    for fd in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            links.append(str(fd.readlink()))
    return [link for link in links if link.startswith(str(site.root))]


def archive(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name in ("[Content_Types].xml", *names):
            packed.writestr(name, "x" * 5000)
    return buffer.getvalue()


CASES: list[tuple[list[Any], dict[str, str], str, str]] = [
    ([part(TEXT)], {}, "", "NOT_PDF"),
    ([part(TEXT * 1000)], {"pipeline": "extract"}, "", "NOT_PDF"),
    ([part(b"\x89PNG\r\n\x1a\n\0\0")], {"pipeline": "study"}, "", "UNSUPPORTED_TYPE"),
    ([part(archive("a.txt"))], {"pipeline": "study"}, "", "UNSUPPORTED_TYPE"),
    ([part(archive("xl/workbook.xml"), name="a.docx")], {}, "?pipeline=study", "UNSUPPORTED_TYPE"),
    ([part(b"")], {}, "", "EMPTY_FILE"),
    ([part(b"", name="")], {}, "", "NO_FILE"),
    ([part(field="document")], {}, "", "NO_FILE"),
    ([part()], {"pipeline": "nosuch"}, "", "UNKNOWN_PIPELINE"),
    ([part()], {}, "?pipeline=nosuch", "UNKNOWN_PIPELINE"),
    ([part()], {"mapping": "nosuch"}, "", "UNKNOWN_MAPPING"),
    ([part()], {"mapping": "plain_v1"}, "?pipeline=extract", "UNKNOWN_MAPPING"),
    ([part()], {"pipeline": "x" * 2000}, "", "BAD_REQUEST"),
    ([part()], {"pipeline": "a\0b"}, "", "UNKNOWN_PIPELINE"),
    ([part()], {"priority": "high"}, "", "BAD_REQUEST"),
    ([part()], {"priority": "99999"}, "", "BAD_REQUEST"),
    ([part()] * 21, {}, "", "TOO_MANY_FILES"),
]


async def test_what_may_not_enter_is_refused_and_leaves_nothing(
    client: httpx2.AsyncClient, site: Site, pool: Pool
) -> None:
    for files, fields, query, code in CASES:
        answer = await client.post(f"/api/upload{query}", files=files, data=fields)
        assert (answer.status_code, answer.json()["code"]) == (400, code), (fields, query)
        assert answer.headers["content-type"] == "application/problem+json"
        assert (site.stored(), unnamed(site), await rows(pool, "jobs")) == ([], [], 0), fields


async def test_fields_after_the_file_count_as_well(client: httpx2.AsyncClient, site: Site) -> None:
    body = (
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n'
        + PDF_FILE
        + b'\r\n--b\r\nContent-Disposition: form-data; name="pipeline"\r\n\r\nnosuch\r\n--b--\r\n'
    )
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    answer = await client.post("/api/upload", content=body, headers=headers)
    assert answer.json()["code"] == "UNKNOWN_PIPELINE"
    assert (site.stored(), unnamed(site)) == ([], [])
    answer = await client.post(
        "/api/upload", content=body.replace(b"nosuch", b"study"), headers=headers
    )
    assert answer.json()["job"]["pipeline"] == "study"


FORM = "multipart/form-data; boundary=b"
BODIES = [
    (b"{}", "application/json", "BAD_REQUEST"),
    (b"x", "multipart/form-data", "NO_FILE"),
    (b"", FORM, "BAD_REQUEST"),
    (b"garbage", FORM, "BAD_REQUEST"),
    (b"--b--\r\n", FORM, "NO_FILE"),
    (b"--b\r\nContent-Dispo", FORM, "BAD_REQUEST"),
    (b"--b\r\nNo colon\r\n\r\nx\r\n--b--", FORM, "BAD_REQUEST"),
    (
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n%PDF-1.7',
        FORM,
        "BAD_REQUEST",
    ),
]


async def test_a_body_that_is_no_form_is_a_bad_request(
    client: httpx2.AsyncClient, site: Site
) -> None:
    for content, kind, code in BODIES:
        answer = await client.post("/api/upload", content=content, headers={"Content-Type": kind})
        assert (answer.status_code, answer.json()["code"]) == (400, code), content
        assert (site.stored(), unnamed(site)) == ([], []), content


async def test_a_request_key_is_short_and_printable(client: httpx2.AsyncClient) -> None:
    for key in (b"", b"k" * 256, b"tab\there", "é".encode()):
        answer = await client.post(
            "/api/upload", files=[part()], headers=[(b"idempotency-key", key)]
        )
        assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST"), key


async def raw(site: Site, *pieces: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    for piece in pieces:
        writer.write(piece)
    await writer.drain()
    return reader, writer


HEAD = (
    b"POST /api/upload HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: multipart/form-data; boundary=b\r\n%s\r\n\r\n"
)
BEGIN = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n%PDF-1.7\n'


async def test_a_declared_gigabyte_is_refused_before_its_bytes(site: Site) -> None:
    expecting = b"Content-Length: 1073741824\r\nExpect: 100-continue"
    reader, writer = await raw(site, HEAD % expecting)
    async with asyncio.timeout(PATIENCE):
        answer = await reader.readuntil(b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"connection: close" in answer.lower()
    writer.close()


async def test_an_endless_body_is_answered_soon_after_the_limit(start: Start) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        yield BEGIN
        while sent < 1 << 30:
            sent += 65536
            yield b"x" * 65536

    async with start(max_upload_bytes=1_000_000) as site, site.client() as client:
        headers = {"Content-Type": "multipart/form-data; boundary=b"}
        try:
            answer = await client.post("/api/upload", content=endless(), headers=headers)
            assert answer.status_code == 413
        except httpx2.TransportError:
            pass  # a client that never listens may only notice the closed connection
        assert sent < 30_000_000
        assert (site.stored(), unnamed(site)) == ([], [])


async def test_an_upload_without_credentials_is_answered_unread(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "DRAIN_SECONDS", 0.3)
    async with start(auth_mode="jwt") as site:
        reader, writer = await raw(site, HEAD % b"Content-Length: 104857600", BEGIN)
        async with asyncio.timeout(PATIENCE):
            answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 401")
        writer.close()
        assert (site.stored(), unnamed(site)) == ([], [])


async def test_a_client_that_goes_away_leaves_nothing(site: Site, pool: Pool) -> None:
    for size in (0, 1, 5000, 3_000_000):
        _, writer = await raw(site, HEAD % b"Content-Length: 9000000", BEGIN, b"x" * size)
        await until(lambda size=size: size < 1 << 20 or unnamed(site))
        writer.close()
        await until(lambda: not unnamed(site))
    assert (site.stored(), await rows(pool, "jobs"), await rows(pool, "documents")) == ([], 0, 0)


@pytest.mark.parametrize("drips", [False, True])
async def test_a_body_that_stalls_or_drips_is_given_up(
    site: Site, monkeypatch: pytest.MonkeyPatch, drips: bool
) -> None:
    monkeypatch.setattr(middleware, "PATIENCE", 1.0)
    reader, writer = await raw(site, HEAD % b"Content-Length: 9000000", BEGIN, b"x" * 2_000_000)

    async def drip() -> None:
        while True:
            writer.write(b"x")
            await asyncio.sleep(0.1)

    task = asyncio.create_task(drip()) if drips else None
    gc.disable()  # a connection held by a cycle of references would stay open for long
    try:
        async with asyncio.timeout(PATIENCE):
            answer = await reader.read()
    finally:
        gc.enable()
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"TOO_SLOW" in answer
    if task:
        task.cancel()
    writer.close()
    await until(lambda: not unnamed(site))
    assert site.stored() == []


async def test_an_upload_that_never_ends_does_not_keep_the_server_from_stopping(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "GRACE_SECONDS", 0.2)
    monkeypatch.setattr(middleware, "PATIENCE", 3600.0)  # so that nothing else ends the upload
    async with asyncio.timeout(PATIENCE):
        async with start() as site:
            _, writer = await raw(site, HEAD % b"Content-Length: 9000000", BEGIN, b"x" * 3_000_000)
            await until(lambda: unnamed(site))
        assert (unnamed(site), site.stored()) == ([], [])
    writer.close()


async def test_a_full_disk_pauses_uploads(start: Start) -> None:
    async with start(disk_limit=0.0) as site, site.client() as client:
        answer = await client.post("/api/upload", files=[part()])
        assert (answer.status_code, answer.json()["code"]) == (503, "DISK_FULL")
        assert "uploads_paused 1.0" in (await client.get("/metrics")).text


async def test_without_a_database_the_file_is_removed_again(
    client: httpx2.AsyncClient, site: Site, pool: Pool
) -> None:
    await pool.close()
    answer = await client.post("/api/upload", files=[part()])
    assert (answer.status_code, answer.json()["code"]) == (503, "DATABASE_DOWN")
    assert (answer.json()["retryAfter"], answer.headers["retry-after"]) == (60, "60")
    assert (site.stored(), unnamed(site)) == ([], [])


async def test_a_store_that_fails_three_times_is_told_with_a_time_to_retry(
    client: httpx2.AsyncClient, site: Site, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)
    await upload(client)
    shutil.rmtree(site.root / "uploads")
    (site.root / "uploads").write_text("in the way")
    answer = await client.post("/api/upload", files=[part(PDF_FILE + b"\n")])
    assert (answer.status_code, answer.json()["code"]) == (503, "IO_ERROR")
    assert (answer.json()["retryAfter"], answer.json()["retryable"]) == (60, True)
    assert await rows(pool, "jobs") == 1


async def test_a_mapping_that_is_not_allowed_is_neither_listed_nor_taken(
    start: Start, pool: Pool
) -> None:
    coretax, ubl, cii = "pt_simon_invoice_v1", "ubl_invoice_v1", "cii_invoice_v1"
    async with start(offer=find_catalog((coretax, ubl), ubl)) as site, site.client() as client:
        listed = (await client.get("/api/mappings")).json()["mappings"]
        assert [each["name"] for each in listed] == [ubl, coretax]
        form = {"pipeline": "invoice", "mapping": cii}
        refused = await client.post("/api/upload", data=form, files=[part()])
        assert (refused.status_code, refused.json()["code"]) == (400, "UNKNOWN_MAPPING")
        assert refused.json()["mappings"] == [coretax, ubl]
        assert await rows(pool, "jobs") == len(site.stored()) == 0
        taken = await client.post("/api/upload", data={"pipeline": "invoice"}, files=[part()])
        job = (await client.get(f"/api/jobs/{taken.json()['jobId']}")).json()
        assert job["mapping"] == ubl
