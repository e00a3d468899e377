"""Originals: exactly the bytes that came, to their owner, and never run by a browser."""

import httpx2
import pytest

from sites import PDF_FILE, Site, part, upload

pytestmark = pytest.mark.anyio


async def test_an_original_comes_back_as_an_attachment(client: httpx2.AsyncClient) -> None:
    sent = await client.post("/api/upload", files=[part(name='a "b" ü.pdf')])
    job_id = sent.json()["jobId"]
    answer = await client.get(f"/api/jobs/{job_id}/original")
    assert (answer.status_code, answer.content) == (200, PDF_FILE)
    headers = answer.headers
    assert headers["content-type"] == "application/pdf"
    assert headers["content-disposition"] == (
        "attachment; filename=\"a _b_ _.pdf\"; filename*=UTF-8''a%20%22b%22%20%C3%BC.pdf"
    )
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "private, no-store"
    events = (await client.get(f"/api/jobs/{job_id}")).json()["events"]
    assert events[-1]["kind"] == "viewed"


async def test_an_original_is_its_owners_and_goes_with_retention(
    client: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await upload(client)
    async with site.client() as other:
        assert (await other.get(f"/api/jobs/{job_id}/original")).status_code == 403
    async with site.services.pool.connection() as conn:
        await conn.execute("UPDATE documents SET upload_key = NULL, expired_at = now()")
    answer = await client.get(f"/api/jobs/{job_id}/original")
    assert (answer.status_code, answer.json()["code"]) == (404, "EXPIRED")
