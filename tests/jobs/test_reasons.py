"""A failed job says why, and what can be done about it."""

from uuid import UUID

import httpx2
import pytest

from docmill.core.actions import list_actions
from docmill.core.jobs import Broke, JobId
from road import claim, the
from sites import Site, fail, settle_as, upload

pytestmark = pytest.mark.anyio


async def fail_with(site: Site, ending: Broke) -> None:
    async with site.services.pool.connection() as conn:
        (claimed,) = await claim(conn)
        await settle_as(conn, claimed, ending)


async def test_a_failure_carries_its_reason_to_the_job_and_its_attempt(
    client: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await upload(client)
    await fail_with(site, Broke("BAD_PDF", "encrypted", reason="It is locked with a password."))
    job = (await client.get(f"/api/jobs/{job_id}")).json()
    assert job["reason"] == "It is locked with a password."
    assert job["attempts"][0]["reason"] == job["reason"]
    assert [one["name"] for one in job["actions"]] == []
    status = (await client.get(f"/api/job-status/{job_id}")).json()
    assert status["reason"] == job["reason"]
    page = (await client.get(f"/jobs/{job_id}")).text
    assert job["reason"] in page


async def test_a_fault_without_a_reason_of_its_own_has_that_of_its_kind(
    client: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await upload(client)
    await fail(site, job_id, "OUT_OF_MEMORY")
    job = (await client.get(f"/api/jobs/{job_id}")).json()
    assert job["reason"] == "This file needs more memory than a conversion may use."
    (action,) = job["actions"]
    assert action == {
        "name": "retry",
        "label": "Try again",
        "method": "POST",
        "href": f"/api/jobs/{job_id}/retry",
    }


async def test_the_download_of_a_failed_job_says_that_it_failed_and_why(
    client: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await upload(client)
    early = (await client.get(f"/api/jobs/{job_id}/download")).json()
    assert (early["code"], early["error"]) == ("NOT_READY", "Conversion not finished yet")
    await fail_with(site, Broke("BAD_PDF", "x", reason="It has no pages."))
    answer = await client.get(f"/api/jobs/{job_id}/download")
    assert answer.status_code == 409
    body = answer.json()
    assert body["error"] == "The job failed, so it has no result"
    assert (body["reason"], body["jobCode"]) == ("It has no pages.", "BAD_PDF")


async def test_attempts_are_counted_over_retries_by_hand(
    client: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await upload(client)
    await fail_with(site, Broke("BAD_PDF", "x"))
    assert (await client.post(f"/api/jobs/{job_id}/retry")).status_code == 200
    await fail_with(site, Broke("BAD_PDF", "x"))
    job = (await client.get(f"/api/jobs/{job_id}")).json()
    assert job["attempt_count"] == 2
    assert [one["attempt"] for one in job["attempts"]] == [1, 2]


async def test_a_retry_forgets_the_reason(client: httpx2.AsyncClient, site: Site) -> None:
    job_id = await upload(client)
    await fail_with(site, Broke("BAD_PDF", "x", reason="It has no pages."))
    answer = (await client.post(f"/api/jobs/{job_id}/retry")).json()
    assert answer["job"]["reason"] is None
    assert answer["job"]["attempt_count"] == 1


async def test_what_was_read_as_the_wrong_thing_can_be_read_as_another(
    client: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await upload(client)
    await fail_with(site, Broke("NO_INVOICE", "x", reason="It is not an invoice."))
    async with site.services.pool.connection() as conn:
        job = await the(conn, JobId(UUID(job_id)))
    labels = {one.label for one in list_actions(job)}
    assert {"Read as trade note", "Read as invoice"} <= labels
