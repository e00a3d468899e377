"""A page of the customer's own may call the API where the operator names its origin."""

import httpx2
import pytest

from docmill.settings import ConfigError, Settings
from sites import Start, complete, part, upload

pytestmark = pytest.mark.anyio

OURS = "https://app.example.com"
ASKS = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}


async def test_a_preflight_of_a_named_origin_is_answered_and_no_other(start: Start) -> None:
    async with start(origins=(OURS,)) as site, site.client() as client:
        answer = await client.options("/api/upload", headers={"Origin": OURS, **ASKS})
        assert answer.status_code == 204
        assert answer.headers["access-control-allow-origin"] == OURS
        assert "authorization" in answer.headers["access-control-allow-headers"].lower()
        assert "POST" in answer.headers["access-control-allow-methods"]
        for origin in ("https://evil.example", "null", OURS + ".evil.example", OURS.upper()):
            refused = await client.options("/api/upload", headers={"Origin": origin, **ASKS})
            assert refused.status_code == 405
            assert "access-control-allow-origin" not in refused.headers
            assert refused.headers["vary"] == "Origin"


async def test_a_page_of_a_named_origin_uploads_polls_and_downloads(start: Start) -> None:
    headers = {"Origin": OURS, "Sec-Fetch-Site": "cross-site"}
    async with start(origins=(OURS,)) as site, site.client(headers=headers) as client:
        job_id = await upload(client)
        await complete(site, job_id)
        for address in (f"/api/job-status/{job_id}", f"/api/jobs/{job_id}/download"):
            answer = await client.get(address)
            assert answer.status_code == 200
            assert answer.headers["access-control-allow-origin"] == OURS
            assert answer.headers["cross-origin-resource-policy"] == "cross-origin"


async def test_a_page_of_another_origin_is_refused_as_before(start: Start) -> None:
    headers = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    async with start(origins=(OURS,)) as site, site.client(headers=headers) as client:
        answer = await client.post("/api/upload", files=[part()])
        assert (answer.status_code, answer.json()["code"]) == (403, "CROSS_SITE")
        assert "access-control-allow-origin" not in answer.headers
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


async def test_without_named_origins_nothing_is_said_of_them(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/api/jobs", headers={"Origin": OURS})
    assert "access-control-allow-origin" not in answer.headers
    assert "origin" not in answer.headers.get("vary", "").lower()


@pytest.mark.parametrize("origin", ["*", "app.example.com", "https://a.example/path", "ftp://a.b"])
def test_what_is_no_origin_is_refused_at_the_start(
    origin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCMILL_ORIGINS", origin)
    with pytest.raises((ConfigError, ValueError), match="is no origin"):
        Settings()  # pyright: ignore[reportCallIssue]
