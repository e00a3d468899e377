"""SPEC section 12: what the status answers, to whom."""

import json
from collections.abc import Callable, Coroutine
from typing import Any, Final
from uuid import UUID, uuid4

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.core.faults import FAULTS
from docmill.core.jobs import Status
from docmill.db.pool import Pool
from properties.senders import examples
from road import claim
from sites import Site, a_pdf, complete, fail, upload

pytestmark = pytest.mark.anyio

TIMES: Final = frozenset({"queuedAt", "startedAt", "completedAt", "processingTime"})
KEYS: Final = TIMES | {"success", "jobId", "status", "progress"}
TEXT: Final = st.text(st.characters(codec="utf-8"))
JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


async def status(client: httpx2.AsyncClient, job_id: str) -> dict[str, Any]:
    answer = await client.get(f"/api/job-status/{job_id}")
    assert answer.status_code == 200
    return answer.json()


async def cancel(client: httpx2.AsyncClient, job_id: str) -> None:
    assert (await client.post(f"/api/jobs/{job_id}/cancel")).status_code == 200


async def take(pool: Pool) -> None:
    async with pool.connection() as conn:
        assert len(await claim(conn)) == 1


@pytest.mark.parametrize(
    ("state", "word", "times"),
    [
        (Status.QUEUED, "queued", {"queuedAt"}),
        (Status.PROCESSING, "processing", {"queuedAt", "startedAt"}),
        (Status.COMPLETE, "completed", {"queuedAt", "startedAt", "completedAt", "processingTime"}),
        (Status.FAILED, "failed", {"queuedAt", "startedAt", "completedAt", "processingTime"}),
        (Status.CANCELLED, "failed", {"queuedAt", "completedAt"}),
    ],
)
async def test_a_status_answer_is_complete_in_every_state(
    site: Site, client: httpx2.AsyncClient, pool: Pool, state: Status, word: str, times: set[str]
) -> None:
    """Properties 16 and 22; times are milliseconds."""
    job_id = await upload(client)
    reach: dict[Status, Callable[[], Coroutine[None, None, None]]] = {
        Status.PROCESSING: lambda: take(pool),
        Status.COMPLETE: lambda: complete(site, job_id),
        Status.FAILED: lambda: fail(site, job_id),
        Status.CANCELLED: lambda: cancel(client, job_id),
    }
    if state in reach:
        await reach[state]()
    answer = await status(client, job_id)
    assert answer.keys() >= KEYS
    assert (answer["success"], answer["jobId"], answer["status"]) == (True, job_id, word)
    given_times = {name for name in TIMES if answer[name] is not None}
    assert given_times == times
    assert all(isinstance(answer[name], int) for name in times)
    assert all(answer[name] > 1_700_000_000_000 for name in times - {"processingTime"})
    assert ("result" in answer) == (state is Status.COMPLETE)
    assert ("error" in answer) == (word == "failed")
    assert answer["progress"] == (100 if state is Status.COMPLETE else 0)


@examples(20)
@given(result=st.dictionaries(TEXT, JSON, max_size=4))
async def test_a_completed_answer_carries_the_result(
    site: Site, client: httpx2.AsyncClient, result: dict[str, Any]
) -> None:
    """Property 17."""
    job_id = await upload(client, a_pdf(uuid4().hex))
    await complete(site, job_id, json.dumps(result).encode())
    answer = await status(client, job_id)
    assert (answer["status"], answer["progress"], answer["result"]) == ("completed", 100, result)
    assert (await client.get(f"/api/jobs/{job_id}/download")).json() == result


async def test_a_failed_answer_carries_the_error(site: Site, client: httpx2.AsyncClient) -> None:
    """Property 18, for every fault there is, and never what only the log may know."""
    for code, fault in FAULTS.items():
        job_id = await upload(client, a_pdf(code))
        await fail(site, job_id, code)
        answer = await status(client, job_id)
        assert (answer["status"], answer["code"]) == ("failed", code)
        assert answer["error"] == fault.final
        whole = json.dumps([answer, (await client.get(f"/api/jobs/{job_id}")).json()])
        assert "/secret/path" not in whole
        assert "the stack" not in whole


ROUTES: Final = [
    ("GET", "/api/jobs/{}"),
    ("GET", "/api/jobs/{}/download"),
    ("GET", "/api/job-status/{}"),
    ("POST", "/api/jobs/{}/retry"),
    ("POST", "/api/jobs/{}/cancel"),
    ("DELETE", "/api/jobs/{}"),
]


@examples(40)
@given(asked=st.sampled_from(ROUTES), job_id=st.uuids(version=4))
async def test_an_unknown_id_is_404(
    client: httpx2.AsyncClient, asked: tuple[str, str], job_id: UUID
) -> None:
    """Property 20."""
    method, route = asked
    answer = await client.request(method, route.format(job_id))
    assert answer.status_code == 404
    assert (answer.json()["error"], answer.json()["jobId"]) == ("Job not found", str(job_id))


@examples(25)
@given(text=st.from_regex(r"[A-Za-z0-9_.~-]{1,80}", fullmatch=True))
async def test_what_is_no_id_at_all_is_404_as_well(client: httpx2.AsyncClient, text: str) -> None:
    """Property 20. A lone dot or two mean another address."""
    if text in {".", ".."}:
        return
    answer = await client.get(f"/api/job-status/{text}")
    assert (answer.status_code, answer.json()["code"]) == (404, "JOB_NOT_FOUND")


@pytest.mark.parametrize("ends", [False, True])
async def test_another_owner_gets_403_and_changes_nothing(
    site: Site, client: httpx2.AsyncClient, ends: bool
) -> None:
    """Property 31, on every route with an id."""
    job_id = await upload(client)
    if ends:
        await complete(site, job_id)
    before = (await client.get(f"/api/jobs/{job_id}")).json()
    async with site.client() as stranger:
        for method, route in ROUTES:
            answer = await stranger.request(method, route.format(job_id))
            assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN"), route
            assert answer.json()["error"] == "This file isn't yours"
        assert (await stranger.get("/api/jobs")).json()["jobs"] == []
    after = (await client.get(f"/api/jobs/{job_id}")).json()
    assert after | {"estimated_seconds_left": None} == before | {"estimated_seconds_left": None}
