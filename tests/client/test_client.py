"""The Python client against a real docmill with a real worker."""

import asyncio
import io
from pathlib import Path

import pytest

from docmill.client.answers import JobFailed, Refused
from docmill.client.asynchronous import AsyncClient
from docmill.client.synchronous import Client
from docmill.core.jobs import Status
from pdfs import encrypted_pdf, make_pdf
from waits import PATIENCE

PDF_FILE = make_pdf([[(72, 72, "Invoice No: INV-17")]])


def test_a_document_goes_in_and_its_data_comes_out(office: str, tmp_path: Path) -> None:
    path = tmp_path / "letter.pdf"
    path.write_bytes(PDF_FILE)
    with Client(office) as docmill:
        job = docmill.submit(path, pipeline="extract")
        again = docmill.submit(io.BytesIO(PDF_FILE), pipeline="extract", filename="letter.pdf")

        assert (job.filename, job.outcome) == ("letter.pdf", "created")
        assert (again.id, again.outcome) == (job.id, "existing")
        assert docmill.wait(job.id, seconds=PATIENCE).good
        assert docmill.result(job.id)["fields"][0]["value"] == "INV-17"
        assert docmill.download(job.id, "markdown") == b"Invoice No: INV-17\n"
        assert [each["id"] for each in docmill.jobs()] == [job.id]
        assert docmill.job(job.id).status is Status.COMPLETE


def test_a_job_that_fails_says_why(office: str) -> None:
    with Client(office) as docmill:
        job = docmill.submit(encrypted_pdf(), pipeline="extract")
        with pytest.raises(JobFailed, match="damaged, locked or empty") as failed:
            docmill.result(job.id, seconds=PATIENCE)
        assert (failed.value.code, failed.value.job.id) == ("BAD_PDF", job.id)


def test_what_docmill_refuses_is_raised_with_its_code(office: str) -> None:
    with Client(office) as docmill:
        with pytest.raises(Refused) as refused:
            docmill.submit(b"not a pdf", pipeline="extract")
        assert refused.value.code == "NOT_PDF"
        with pytest.raises(Refused, match="form") as refused:
            docmill.download(docmill.submit(PDF_FILE, pipeline="extract").id, "anki")
        assert refused.value.code == "BAD_REQUEST"


@pytest.mark.anyio
async def test_several_at_once_where_there_is_an_event_loop(office: str) -> None:
    async with AsyncClient(office) as docmill:
        texts = [f"The shepherd number {number} led his weary flock." for number in range(3)]
        jobs = [await docmill.submit(text.encode(), pipeline="study") for text in texts]
        found = await asyncio.gather(*(docmill.result(job.id, seconds=PATIENCE) for job in jobs))

    assert [each["wordCount"] for each in found] == [8, 8, 8]


@pytest.mark.anyio
async def test_a_busy_docmill_is_asked_again_and_a_broken_connection_too() -> None:
    """A server that answers as docmill does when it is busy, and before that not at all."""
    calls: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        calls.append("asked")
        busy = b'{"error": "The service is busy", "code": "BUSY", "retryAfter": 0}'
        good = b'{"jobs": [], "next_cursor": null}'
        replies = [b"", _http("503 Service Unavailable", busy), _http("200 OK", good)]
        writer.write(replies[len(calls) - 1])
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, AsyncClient(f"http://127.0.0.1:{port}") as docmill:
        found = await docmill.patiently(lambda: docmill.ask("GET", "/api/jobs"))

    assert found["jobs"] == []
    assert len(calls) == 3


def _http(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body


def test_nobody_there_is_told_at_once() -> None:
    with (
        Client("http://127.0.0.1:1", tries=1) as docmill,
        pytest.raises(Refused, match="not answer"),
    ):
        docmill.jobs()
