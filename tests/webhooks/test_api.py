"""/api/webhooks and its pages: whose is whose, what is refused, what is shown."""

from typing import Any, Final

import httpx2
import pytest

from docmill.webhooks.fields import NAMES
from hooks import delivering
from receivers import receiving
from sites import Start, complete, upload
from waits import until

pytestmark = pytest.mark.anyio

ALLOW: Final = ("127.0.0.0/8",)
HERE: Final = "http://127.0.0.1:9/hook"
NOBODY: Final = "00000000-0000-4000-8000-000000000000"


async def create(client: httpx2.AsyncClient, url: str = HERE, **given: Any) -> dict[str, Any]:
    answer = await client.post("/api/webhooks", json={"url": url, **given})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def delivered(client: httpx2.AsyncClient, webhook_id: str) -> list[dict[str, Any]]:
    found = await client.get(f"/api/webhooks/{webhook_id}/deliveries")
    log = found.json()["deliveries"]
    return [one for one in log if one["status"] == "delivered"]


async def test_a_webhook_is_made_told_of_a_job_and_deleted(start: Start) -> None:
    async with start(webhook_allow=ALLOW) as site, site.client() as client, receiving(200) as there:
        made = await create(client, there.url)
        assert made["events"] == sorted(NAMES)
        job_id = await upload(client)
        await complete(site, job_id)
        async with delivering(site.services.pool):
            await until(lambda: delivered(client, made["id"]))
        (one,) = await delivered(client, made["id"])
        assert one["event"] == "job.complete"
        assert one["data"]["job_id"] == job_id
        assert one["message_id"] == there.received[0].id
        assert [each["status"] for each in one["attempts"]] == [200]
        assert there.received[0].verify(made["secret"])["data"]["job_id"] == job_id
        (listed,) = (await client.get("/api/webhooks")).json()["webhooks"]
        assert "secret" not in listed
        assert listed["enabled"]
        assert listed["delivered_at"]
        gone = await client.delete(f"/api/webhooks/{made['id']}")
        assert gone.json() == {"deleted": made["id"]}
        assert (await client.get("/api/webhooks")).json() == {"webhooks": []}


async def test_deliveries_are_listed_in_pages_and_by_status(start: Start) -> None:
    async with start(webhook_allow=ALLOW) as site, site.client() as client:
        made = await create(client)
        for number in range(3):
            job_id = await upload(client, f"%PDF-1.4 {number}".encode() + b"\n%%EOF")
            await complete(site, job_id)
        address = f"/api/webhooks/{made['id']}/deliveries"
        first = (await client.get(address, params={"limit": 2})).json()
        rest = (await client.get(address, params={"cursor": first["next_cursor"]})).json()
        assert len(first["deliveries"]) == 2
        assert len(rest["deliveries"]) == 1
        assert rest["next_cursor"] is None
        waiting = (await client.get(address, params={"status": "pending"})).json()
        assert len(waiting["deliveries"]) == 3
        assert all(one["due_at"] and not one["attempts"] for one in waiting["deliveries"])
        none = (await client.get(address, params={"status": "failed"})).json()
        assert none["deliveries"] == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/rotate"),
        ("POST", "/enable"),
        ("GET", "/deliveries"),
        ("POST", f"/deliveries/{NOBODY}/replay"),
        ("POST", "/replay"),
    ],
)
async def test_nobody_else_gets_at_a_webhook(start: Start, method: str, path: str) -> None:
    body: dict[str, Any] = {"json": {"since": "2026-01-01"}} if path == "/replay" else {}
    async with start(webhook_allow=ALLOW) as site, site.client() as ann, site.client() as bob:
        made = await create(ann)
        await create(bob)
        answer = await bob.request(method, f"/api/webhooks/{made['id']}{path}", **body)
        assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
        unknown = await bob.request(method, f"/api/webhooks/{NOBODY}{path}", **body)
        assert (unknown.status_code, unknown.json()["code"]) == (404, "WEBHOOK_NOT_FOUND")
        no_id = await bob.request(method, f"/api/webhooks/nothing{path}", **body)
        assert no_id.status_code == 404
        assert len((await bob.get("/api/webhooks")).json()["webhooks"]) == 1
        assert (await ann.get(f"/api/webhooks/{made['id']}")).status_code == 200


async def test_a_delivery_of_another_webhook_is_not_found(start: Start) -> None:
    async with start(webhook_allow=ALLOW) as site, site.client() as ann, site.client() as bob:
        mine, theirs = await create(ann), await create(bob)
        await complete(site, await upload(ann))
        log = (await ann.get(f"/api/webhooks/{mine['id']}/deliveries")).json()["deliveries"]
        address = f"/api/webhooks/{theirs['id']}/deliveries/{log[0]['id']}/replay"
        answer = await bob.post(address)
        assert (answer.status_code, answer.json()["code"]) == (404, "DELIVERY_NOT_FOUND")


async def test_the_jobs_of_one_are_not_told_to_another(start: Start) -> None:
    async with start(webhook_allow=ALLOW) as site, site.client() as ann, site.client() as bob:
        made = await create(bob)
        await complete(site, await upload(ann))
        assert (await bob.get(f"/api/webhooks/{made['id']}/deliveries")).json()["deliveries"] == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"url": "http://127.0.0.1:9/"}, "URL_REFUSED"),
        ({"url": "http://169.254.169.254/latest"}, "URL_REFUSED"),
        ({"url": "file:///etc/passwd"}, "URL_REFUSED"),
        ({"url": "https://user:word@example.com/"}, "URL_REFUSED"),
        ({"url": ""}, "BAD_REQUEST"),
        ({}, "BAD_REQUEST"),
        ({"url": HERE, "events": []}, "BAD_REQUEST"),
        ({"url": HERE, "events": ["job.begun"]}, "BAD_REQUEST"),
        ({"url": HERE, "secret": "mine"}, "BAD_REQUEST"),
        ({"url": HERE, "desk": "trading"}, "FORBIDDEN"),
    ],
)
async def test_what_cannot_be_a_webhook_is_refused(
    client: httpx2.AsyncClient, body: dict[str, Any], code: str
) -> None:
    answer = await client.post("/api/webhooks", json=body)
    assert answer.json()["code"] == code
    assert (await client.get("/api/webhooks")).json() == {"webhooks": []}


async def test_a_refusal_says_which_setting_allows_the_address(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/api/webhooks", json={"url": HERE})
    assert "DOCMILL_WEBHOOK_ALLOW" in answer.json()["reason"]


async def test_who_sees_every_desk_can_be_told_of_one(start: Start) -> None:
    async with (
        start(webhook_allow=ALLOW, auth_mode="local") as site,
        site.client() as client,
    ):
        made = await create(client, desk="trading", events=["trade.created"])
        assert made["desk"] == "trading"


async def test_a_new_secret_is_told_once_and_the_old_one_lasts_a_day(start: Start) -> None:
    async with start(webhook_allow=ALLOW) as site, site.client() as client:
        made = await create(client)
        changed = (await client.post(f"/api/webhooks/{made['id']}/rotate")).json()
        assert changed["secret"] != made["secret"]
        assert changed["old_secret_until"] > changed["created_at"]


async def test_no_more_than_twenty(start: Start) -> None:
    async with start(webhook_allow=ALLOW) as site, site.client() as client:
        for _ in range(20):
            await create(client)
        answer = await client.post("/api/webhooks", json={"url": HERE})
        assert (answer.status_code, answer.json()["code"]) == (409, "TOO_MANY_WEBHOOKS")


async def metric(client: httpx2.AsyncClient, name: str) -> float:
    text = (await client.get("/metrics")).text
    return next(
        float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(name)
    )


async def test_metrics_tell_what_waits_and_what_tries_came_to(start: Start) -> None:
    async with start(webhook_allow=ALLOW) as site, site.client() as client, receiving(200) as there:
        await metric(client, "webhook_outbox_pending ")
        made = await create(client, there.url)
        await complete(site, await upload(client))
        assert await metric(client, "webhook_outbox_pending ") == 1
        assert await metric(client, "webhook_outbox_lag_seconds ") > 0
        async with delivering(site.services.pool):
            await until(lambda: delivered(client, made["id"]))
        assert await metric(client, "webhook_outbox_pending ") == 0
        assert await metric(client, 'webhook_tries_total{outcome="delivered"}') == 1


async def make_by_page(client: httpx2.AsyncClient, **given: Any) -> httpx2.Response:
    return await client.post("/webhooks", data={"url": HERE, "event": [*NAMES], **given})


async def test_the_page_makes_a_webhook_and_shows_its_secret_once(start: Start) -> None:
    async with start(webhook_allow=ALLOW) as site, site.client() as client:
        assert "No webhook yet" in (await client.get("/webhooks")).text
        made = await make_by_page(client, event=["job.failed"])
        assert made.status_code == 201
        assert "whsec_" in made.text
        again = await client.get("/webhooks")
        assert HERE in again.text
        assert "whsec_" not in again.text
        (one,) = (await client.get("/api/webhooks")).json()["webhooks"]
        assert one["events"] == ["job.failed"]


async def test_the_page_says_why_an_address_is_refused(client: httpx2.AsyncClient) -> None:
    refused = await make_by_page(client)
    assert refused.status_code == 400
    assert "DOCMILL_WEBHOOK_ALLOW" in refused.text
    assert HERE in refused.text  # what was typed is still there
    none = await client.post("/webhooks", data={"url": HERE})
    assert "Choose at least one event" in none.text


async def test_the_page_tells_of_a_webhook_that_is_off_and_turns_it_on(start: Start) -> None:
    async with start(webhook_allow=ALLOW) as site, site.client() as client, receiving(410) as there:
        made = await create(client, there.url)
        await complete(site, await upload(client))
        async with delivering(site.services.pool):
            await until(lambda: is_off(client))
        assert "gone for good (410)" in (await client.get("/webhooks")).text
        page = f"/webhooks/{made['id']}"
        shown = (await client.get(page)).text
        assert "gone for good (410)" in shown
        assert "Failed" in shown
        turned = await client.post(f"{page}/enable", follow_redirects=True)
        assert "1 to be delivered again" in turned.text
        assert not await is_off(client)


async def is_off(client: httpx2.AsyncClient) -> bool:
    (one,) = (await client.get("/api/webhooks")).json()["webhooks"]
    return not one["enabled"]


async def test_the_page_replays_rotates_and_deletes(start: Start) -> None:
    async with start(webhook_allow=ALLOW) as site, site.client() as client, receiving(200) as there:
        made = await create(client, there.url)
        await complete(site, await upload(client))
        page = f"/webhooks/{made['id']}"
        async with delivering(site.services.pool):
            await until(lambda: delivered(client, made["id"]))
            (one,) = await delivered(client, made["id"])
            answer = await client.post(
                f"{page}/replay", data={"delivery": one["id"]}, follow_redirects=True
            )
            assert "1 to be delivered again" in answer.text
            await until(lambda: len(there.received) == 2)
        assert "whsec_" in (await client.post(f"{page}/rotate")).text
        await client.post(f"{page}/delete")
        assert (await client.get(page)).status_code == 404


@pytest.mark.parametrize("path", ["", "/rotate", "/delete", "/enable", "/replay"])
async def test_nobody_else_gets_at_its_page(start: Start, path: str) -> None:
    async with start(webhook_allow=ALLOW) as site, site.client() as ann, site.client() as bob:
        made = await create(ann)
        await bob.get("/webhooks")
        address = f"/webhooks/{made['id']}{path}"
        answer = await (bob.post(address) if path else bob.get(address))
        assert answer.status_code == 403
        assert made["url"] not in answer.text
