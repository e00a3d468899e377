"""Requests no honest client sends: each is refused in the API's own words, none breaks anything."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from docmill.web import middleware
from sites import Site, part, upload
from waits import PATIENCE

pytestmark = pytest.mark.anyio

UPLOAD = (
    b"POST /api/upload HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: multipart/form-data; boundary=x\r\n"
)
JSON = b"POST /api/reprocess HTTP/1.1\r\nHost: localhost\r\n"


async def test_a_nul_is_refused_in_every_parameter_of_every_route(
    client: httpx2.AsyncClient,
) -> None:
    document = (await client.get("/openapi.json")).json()
    tried = 0
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for each in operation.get("parameters", ()):
                if each["in"] == "header":
                    continue
                address, query = path, {"q": "x"}
                if each["in"] == "path":
                    address = path.replace(f"{{{each['name']}}}", "%00")
                else:
                    query[each["name"]] = "a\0b"
                answer = await client.request(method, address, params=query)
                assert answer.status_code in {400, 404}, (method, path, each["name"])
                assert answer.json()["code"]
                tried += 1
    assert tried > 60


@pytest.mark.parametrize(
    "address",
    [
        "/trades?currency=%00", "/trades?q=%00", "/search?q=a&filename=%00", "/search?q=%00",
        "/queue?q=%00", "/queue?pipeline=%00", "/jobs/%00", "/review/%00", "/trades/%00",
        "/search/passages/1?q=%00", "/queue?cursor=%00", "/study/%00",
    ],
)  # fmt: skip
async def test_a_nul_is_refused_on_the_pages(client: httpx2.AsyncClient, address: str) -> None:
    answer = await client.get(address, headers={"accept": "text/html"})
    assert answer.status_code == 400
    assert "The request can" in answer.text


@pytest.mark.parametrize(
    "address",
    [
        "/search/passages/99999999999999999999999", "/api/trades?below=1e-20000",
        "/api/trades?since=0001-01-01&until=9999-12-31", "/api/trades?currency=%ed%a0%80",
        "/api/search?q=x&cursor=MC41IDk5OTk5OTk5OTk5OTk5OTk5OTk5OTk",
        "/api/jobs?since=9999-12-31T23:59:59-23:59",
        "/api/search?q=x&since=0001-01-01", "/files/x?until=1&signature=%F0%9F%98%80",
        "/static/%00", "/static/%ff", "/api/jobs?limit=99999999999999999999",
    ],
)  # fmt: skip
async def test_odd_values_are_refused_or_find_nothing(
    client: httpx2.AsyncClient, address: str
) -> None:
    assert (await client.get(address)).status_code < 500


BODIES: dict[str, Any] = {
    "NUL": {"sender": "a\0b"},
    "NUL in a name": {"a\0b": 1},
    "half a character": {"pipeline": "\ud800"},
    "a far time": {"received_from": "9999-12-31T23:59:59-23:59"},
    "an early time": {"received_until": "0001-01-01T00:00:00+23:59"},
    "a time zone of its own": {"received_from": "2020-01-01T00:00:00+19:30"},
    "a number for a time": {"received_from": 1e300},
    "a large limit": {"limit": 10**30},
    "no object": [],
}


@pytest.mark.parametrize("name", BODIES)
async def test_no_body_breaks_a_reprocess(client: httpx2.AsyncClient, name: str) -> None:
    sent = json.dumps(BODIES[name]).encode()
    answer = await client.post("/api/reprocess", content=sent)
    assert answer.status_code in {200, 400}, answer.text
    if "NUL" in name or "half" in name:
        assert answer.status_code == 400


async def test_a_nul_is_refused_in_every_other_body(client: httpx2.AsyncClient) -> None:
    job_id = await upload(client)
    nul = "a\0b"
    for method, path, body in (
        ("PUT", "/api/profile", {"name": nul}),
        ("PUT", "/api/profile", {nul: "x"}),
        ("PUT", "/api/lessons", {"learning": nul}),
        ("POST", "/api/exports", {"jobs": [job_id], "mapping": nul}),
        ("POST", "/api/exports", {"jobs": [nul]}),
        ("POST", f"/api/reviews/{job_id}/reject", {"revision": 0, "reason": nul}),
        ("POST", f"/api/reviews/{job_id}/edits", {"revision": 0, "edits": [{"path": nul}]}),
    ):
        answer = await client.request(method, path, json=body)
        assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST"), (path, body)


async def test_an_escaped_backslash_before_u0000_is_no_nul(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/api/reprocess", json={"sender": "a\\u0000b"})
    assert answer.status_code == 200


async def test_a_nul_in_a_field_of_an_upload_is_refused(client: httpx2.AsyncClient) -> None:
    for name in ("pipeline", "mapping", "priority", "fields"):
        answer = await client.post("/api/upload", data={name: "a\0b"}, files=[part()])
        assert answer.status_code == 400, name


@pytest.mark.parametrize(
    "sent",
    [
        UPLOAD + b"Content-Length: 1000\r\n\r\n--x\r\n",
        UPLOAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n--x\r\n",
        UPLOAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n",
        UPLOAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n--x\r\nQQQQ\r\n",
        JSON + b"Content-Length: 1000\r\n\r\n{",
        JSON + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n{}\r\n",
    ],
)
async def test_a_body_that_breaks_off_is_a_bad_request(site: Site, sent: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.write(sent)
    writer.write_eof()
    async with asyncio.timeout(PATIENCE):
        answer = await reader.read()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert b'"code":"BAD_REQUEST"' in answer


@pytest.mark.parametrize("request_line", [UPLOAD, JSON])
async def test_an_oversized_content_length_is_refused_before_the_body(
    site: Site, request_line: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client sends none of it: who waits for the body first answers after our patience."""
    monkeypatch.setattr(middleware, "PATIENCE", 2 * PATIENCE)
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.write(request_line + b"Content-Length: 99999999999\r\n\r\n")
    async with asyncio.timeout(PATIENCE):
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 413 ")
        assert b"connection: close" in head.lower()
        assert b'"code":"TOO_LARGE"' in await reader.read()
    writer.close()


async def test_a_client_that_goes_on_sending_still_sees_the_refusal(site: Site) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.write(UPLOAD + b"Content-Length: 99999999999\r\n\r\n")
    for _ in range(100):
        writer.write(b"x" * (1 << 16))
        await writer.drain()
    async with asyncio.timeout(PATIENCE):
        answer = await reader.read()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"code":"TOO_LARGE"' in answer


async def test_allow_names_every_method_of_an_address(client: httpx2.AsyncClient) -> None:
    for method, path, allowed in (
        ("PUT", "/api/jobs/x", "DELETE, GET"),
        ("POST", "/api/profile", "GET, PUT"),
        ("PATCH", "/api/lessons", "DELETE, GET, PUT"),
        ("GET", "/api/jobs/x/cancel", "POST"),
        ("POST", "/static/docmill.css", "GET, HEAD"),
        ("OPTIONS", "/api/jobs", "GET"),
    ):
        answer = await client.request(method, path)
        assert (answer.status_code, answer.headers["allow"]) == (405, allowed), path


async def test_the_form_of_a_browser_without_scripts_leads_back_to_the_queue(
    client: httpx2.AsyncClient,
) -> None:
    form = {"pipeline": "extract", "mapping": "plain_v1"}
    files = [part(), part(b"no pdf", "no.txt"), part(b"none either", "n.txt")]
    answer = await client.post("/queue/upload", data=form, files=files)
    assert answer.status_code == 303
    page = (await client.get(answer.headers["location"])).text
    assert "1 file received" in page
    assert "2 files: Only PDF files are supported" in page
    empty = await client.post("/queue/upload", data=form, files=[part(b"", "")])
    assert (empty.status_code, empty.headers["location"]) == (
        303,
        "/queue?received=0&refused=NO_FILE",
    )
    assert "No file was sent" in (await client.get(empty.headers["location"])).text
    odd = await client.get("/queue?received=1&refused=<b>&refused=constructor")
    assert "<b>" not in odd.text
    foreign = await client.post("/queue/upload", files=[part()], headers={"origin": "http://evil"})
    assert foreign.status_code == 403
