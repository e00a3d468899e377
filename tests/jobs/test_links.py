"""Links to results: open for anybody, for a while, and for caches on the way."""

import hashlib
import re

import httpx2
import pytest

from sites import Site, Start, complete, upload
from waits import until

pytestmark = pytest.mark.anyio

BODY = b'{"pages": [], "text": "hello"}'


async def make_link(client: httpx2.AsyncClient, job_id: str, **given: object) -> dict[str, object]:
    answer = await client.post(f"/api/jobs/{job_id}/links", json=given)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_a_link_opens_the_result_for_anybody_and_lets_caches_keep_it(
    site: Site, client: httpx2.AsyncClient
) -> None:
    job_id = await upload(client)
    early = await client.post(f"/api/jobs/{job_id}/links", json={})
    assert (early.status_code, early.json()["code"]) == (409, "NOT_READY")
    await complete(site, job_id, BODY)
    link = await make_link(client, job_id, expires_in=600)
    async with site.client() as stranger:
        answer = await stranger.get(str(link["url"]))
        assert (answer.status_code, answer.content) == (200, BODY)
        headers = answer.headers
        found = re.fullmatch(r"public, max-age=(\d+)", headers["cache-control"])
        assert found
        assert 0 < int(found[1]) <= 600
        assert headers["etag"] == f'"{hashlib.sha256(BODY).hexdigest()[:32]}"'
        assert "set-cookie" not in headers
        assert "vary" not in headers
        assert headers["access-control-allow-origin"] == "*"
        again = await stranger.get(str(link["url"]), headers={"if-none-match": headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        as_json = await make_link(client, job_id, format="json")
        assert (await stranger.get(str(as_json["url"]))).json() == {"pages": [], "text": "hello"}
        assert (await stranger.post(f"/api/jobs/{job_id}/links", json={})).status_code == 403
    assert (await client.get(f"/api/jobs/{job_id}")).json()["download_count"] == 2
    bad = await client.post(f"/api/jobs/{job_id}/links", json={"format": "none"})
    assert bad.json()["code"] == "BAD_REQUEST"


async def test_a_link_ends_with_its_time_and_with_its_job(
    site: Site, client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = await upload(client)
    await complete(site, job_id, BODY)
    url = str((await make_link(client, job_id))["url"])
    for changed in (
        url.replace("until=", "until=9"),
        url[:-1] + ("0" if url[-1] != "0" else "1"),
        url + "&format=json",
    ):
        answer = await client.get(changed)
        assert (answer.status_code, answer.json()["code"]) == (403, "LINK_EXPIRED")
        assert answer.headers["cache-control"] == "no-store"
    async with site.client() as stranger:
        with monkeypatch.context() as later:
            later.setattr("time.time", lambda: 1e10)
            assert (await stranger.get(url)).json()["code"] == "LINK_EXPIRED"
        assert (await stranger.get(url)).status_code == 200
    assert (await client.delete(f"/api/jobs/{job_id}")).status_code == 204
    gone = await client.get(url)
    assert (gone.status_code, BODY in gone.content) == (404, False)
    assert gone.headers["cache-control"] == "no-store"


async def test_a_result_that_goes_with_its_first_download_is_kept_by_no_cache(
    start: Start,
) -> None:
    async with start(delete_on_download=True) as site, site.client() as client:
        job_id = await upload(client)
        await complete(site, job_id, BODY)
        url = str((await make_link(client, job_id))["url"])

        def results() -> list[str]:
            return [key for key in site.stored() if key.startswith("results/")]

        assert results()
        answer = await client.get(url)
        assert (answer.content, answer.headers["cache-control"]) == (BODY, "private, no-store")
        # It goes once its last byte has left. Asking again meanwhile could delete it too.
        await until(lambda: not results())
        assert (await client.get(url)).status_code == 404
