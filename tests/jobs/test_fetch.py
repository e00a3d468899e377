"""Uploads by address: fetched by docmill, and never from inside."""

from collections.abc import AsyncGenerator

import httpx2
import pytest

from docmill.documents import fetch
from docmill.services import outbound
from receivers import receiving_by
from services.test_outbound import INSIDE, resolve
from sites import PDF_FILE, Site, Start, a_pdf, part, rows

pytestmark = pytest.mark.anyio

HERE = ("127.0.0.0/8",)


def answer_pdf(data: bytes = PDF_FILE, *lines: str) -> bytes:
    head = ["HTTP/1.1 200 OK", f"content-length: {len(data)}", *lines]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + data


def answer_with(status: int, *lines: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} Word", "content-length: 0", *lines, "", ""]).encode()


@pytest.fixture
async def near(start: Start) -> AsyncGenerator[httpx2.AsyncClient]:
    """A person whose docmill may fetch from this machine."""
    async with start(fetch_allow=HERE, max_upload_bytes=20_000) as site, site.client() as client:
        yield client


async def test_a_file_is_fetched_from_its_address_by_json_form_and_multipart(
    near: httpx2.AsyncClient,
) -> None:
    named = "content-disposition: attachment; filename=bill.pdf"
    files = [answer_pdf(a_pdf("one"), named), answer_pdf(a_pdf("two")), answer_pdf(a_pdf("three"))]
    async with receiving_by(lambda number: files[number]) as server:
        url = f"http://127.0.0.1:{server.port}/a%20b.pdf?x=1"
        one = await near.post("/api/upload", json={"url": url, "pipeline": "extract"})
        two = await near.post("/api/upload", data={"url": url})
        three = await near.post("/api/upload", data={"url": url}, files=[part()])
    assert (one.status_code, one.json()["job"]["filename"]) == (200, "bill.pdf")
    assert two.json()["job"]["filename"] == "a b.pdf"
    assert [job["success"] for job in three.json()["jobs"]] == [True, True]


async def test_what_cannot_be_fetched_is_told_in_a_sentence(
    near: httpx2.AsyncClient, pool: object
) -> None:
    answers = [
        (answer_with(404), "URL_FAILED", "answered 404"),
        (answer_pdf(b"only words"), "NOT_PDF", ""),
        (answer_pdf(b"x" * 20_001), "TOO_LARGE", ""),
        (b"HTTP/1.1 200 OK\r\n\r\n%PDF-1.4" + b"x" * 20_001, "TOO_LARGE", ""),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n%PDF-1.4", "URL_FAILED", "connection"),
        (answer_with(302, "location: http://10.0.0.1/"), "URL_REFUSED", "10.0.0.1"),
        (answer_with(302, "location: file:///etc/passwd"), "URL_REFUSED", "https://"),
    ]
    async with receiving_by(lambda number: answers[number][0]) as server:
        url = f"http://127.0.0.1:{server.port}/a.pdf"
        for _, code, reason in answers:
            answer = (
                await near.post("/api/upload", json={"url": url, "pipeline": "extract"})
            ).json()
            assert (answer["code"], reason in str(answer.get("reason"))) == (code, True), answer
    async with receiving_by(lambda _: answer_with(302, f"location: {url}?on")) as server:
        url = f"http://127.0.0.1:{server.port}/a.pdf"
        looped = (await near.post("/api/upload", json={"url": url})).json()
        assert "more than 5 times" in looped["reason"]
    nothing = (await near.post("/api/upload", json={"pipeline": "extract"})).json()
    assert nothing["code"] == "BAD_REQUEST"
    assert (await near.post("/api/upload", data={"x": "y"})).json()["code"] == "NO_FILE"


async def test_a_redirect_is_followed(near: httpx2.AsyncClient) -> None:
    answers = [answer_with(307, "location: /there/moved.pdf"), answer_pdf()]
    async with receiving_by(lambda number: answers[number]) as server:
        url = f"http://127.0.0.1:{server.port}/a.pdf"
        answer = await near.post("/api/upload", json={"url": url})
    assert answer.json()["job"]["filename"] == "moved.pdf"


async def test_no_address_that_leads_inside_is_fetched(
    site: Site, client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The targets that webhooks are refused, each asked for as a person would."""
    monkeypatch.setattr(outbound.OutboundClient.__init__, "__kwdefaults__", {"resolve": resolve})
    for url in filter(None, INSIDE):
        answer = await client.post("/api/upload", json={"url": url})
        assert (answer.status_code, answer.json()["code"]) == (400, "URL_REFUSED"), url
    assert (
        fetch.ALLOW_SETTING
        in (await client.post("/api/upload", json={"url": "https://10.0.0.1/"})).json()["reason"]
    )
    assert (site.stored(), await rows(site.services.pool, "jobs")) == ([], 0)
