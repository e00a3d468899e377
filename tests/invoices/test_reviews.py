"""Review: edits kept as revisions, conflicts, decisions, the new download, and what they teach."""

import asyncio
import json
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from docmill.core.jobs import Finished, Retry, settle
from docmill.jobs.runner import JobRunner
from docmill.processes import web
from docmill.queue.settle import Settlement, Settler
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.pool import SandboxPool
from layouts import odd_invoice
from road import claim
from sites import INVOICES, Site, Start, part, upload_to
from waits import PATIENCE

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
async def sandbox() -> AsyncGenerator[SandboxPool]:
    """The worker's and the web's children, of one parent."""
    limits = RunLimits(stall=timedelta(seconds=PATIENCE), total=timedelta(minutes=10))
    async with SandboxPool(limits, pipelines=["invoice", *web.list_preview_runs()]) as opened:
        yield opened


@pytest.fixture
async def site(start: Start, sandbox: SandboxPool) -> AsyncGenerator[Site]:
    async with start(offer=INVOICES, sandbox=sandbox) as running_site:
        yield running_site


async def convert(site: Site, sandbox: SandboxPool) -> None:
    """What a worker does with the job that waits."""
    pool = site.services.pool
    async with pool.connection() as conn:
        (claimed,) = await claim(conn, pipelines=["invoice"])
    runner = JobRunner(pool, site.services.store, sandbox)
    ending, _ = await runner(claimed, lambda _percent, _stage: None)
    assert isinstance(ending, Finished), ending
    settler = Settler(pool)
    move = settle(claimed, ending, retry=Retry(), chance=0)
    assert await settler.settle(Settlement(claimed, move))
    await settler.close()


@pytest.fixture
async def job_id(client: httpx2.AsyncClient, site: Site, sandbox: SandboxPool) -> str:
    """A converted invoice whose number was not found."""
    made = await upload_to(client, "invoice", odd_invoice("SJA-25-0417"))
    await convert(site, sandbox)
    return made


async def review(client: httpx2.AsyncClient, job_id: str) -> dict[str, Any]:
    answer = await client.get(f"/api/reviews/{job_id}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def send(client: httpx2.AsyncClient, job_id: str, verb: str, **body: Any) -> httpx2.Response:
    return await client.post(f"/api/reviews/{job_id}/{verb}", json=body)


async def edit(
    client: httpx2.AsyncClient, job_id: str, revision: int, *edits: tuple[str, Any]
) -> httpx2.Response:
    wish = [{"path": path, "value": value} for path, value in edits]
    return await send(client, job_id, "edits", revision=revision, edits=wish)


async def approved(client: httpx2.AsyncClient, job_id: str) -> dict[str, Any]:
    seen = (await review(client, job_id))["revision"]
    answer = await send(client, job_id, "approve", revision=seen)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_what_is_converted_waits_for_review_with_its_doubts(
    client: httpx2.AsyncClient, job_id: str
) -> None:
    (waiting,) = (await client.get("/api/reviews")).json()["reviews"]
    assert waiting["job_id"] == job_id
    assert waiting["status"] == "pending"
    assert waiting["doubts"] >= 1
    opened = await review(client, job_id)
    assert "invoice_number" in opened["review"]
    assert opened["data"]["totals"]["gross"] == "555000"
    assert "<TaxInvoiceBulk" in opened["xml"]
    assert opened["history"] == []


async def test_the_summary_of_a_job_follows_its_review(
    client: httpx2.AsyncClient, job_id: str
) -> None:
    async def summary() -> dict[str, Any]:
        return (await client.get(f"/api/jobs/{job_id}")).json()["summary"]

    read = await summary()
    assert (read["amount"], read["currency"], read["state"]) == ("555000", "IDR", "to check")
    assert "number" not in read
    await edit(client, job_id, 0, ("invoice_number", "SJA-25-0417"))
    edited = await summary()
    assert (edited["number"], edited["check"]) == ("SJA-25-0417", read["check"] - 1)
    await approved(client, job_id)
    assert await summary() == {**edited, "check": 0, "state": "approved"}
    seen = (await review(client, job_id))["revision"]
    await send(client, job_id, "reject", revision=seen, reason="not ours")
    assert (await summary())["state"] == "rejected"


async def test_every_edit_is_a_revision_with_who_when_before_and_after(
    client: httpx2.AsyncClient, job_id: str
) -> None:
    answer = await edit(
        client, job_id, 0, ("invoice_number", "SJA-25-0417"), ("totals.net", "500.000,00"),
        ("issue_date", "15 Maret 2025"),
    )  # fmt: skip
    body = answer.json()
    assert answer.status_code == 200, body
    # 500.000,00 is what the net was, in other words: the value changes, and so it is kept.
    steps = [(each["path"], each["before"], each["after"]) for each in body["history"]]
    assert steps == [
        ("invoice_number", None, "SJA-25-0417"),
        ("totals.net", "500000", "500000.00"),
        ("issue_date", "2025-03-14", "2025-03-15"),
    ]
    assert [each["revision"] for each in body["history"]] == [1, 2, 3]
    assert all(each["by"].startswith("session:") and each["at"] for each in body["history"])
    assert "invoice_number" not in body["review"]
    assert "2025-03-15" in body["xml"]
    assert body["revision"] == 3


async def test_lines_are_put_in_and_taken_out_and_their_evidence_moves_along(
    client: httpx2.AsyncClient, job_id: str
) -> None:
    line = {"description": "Map", "quantity": "2", "unit_price": "1000", "amount": "2000"}
    body = (await edit(client, job_id, 0, ("lines[0]", line))).json()
    assert [each["description"] for each in body["data"]["lines"]] == ["Map", "Kertas A4"]
    assert body["checks"]["lines_net"] == "broken"
    assert "totals.net" in body["review"]
    assert body["data"]["evidence"]["lines[1].amount"]["page"] == 1
    body = (await edit(client, job_id, 1, ("lines[0]", None))).json()
    assert [each["description"] for each in body["data"]["lines"]] == ["Kertas A4"]
    assert body["checks"]["lines_net"] == "held"
    assert body["history"][1]["before"]["description"] == "Map"


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("totals.net", "a lot", "is no figure"),
        ("issue_date", "soon", "is no date"),
        ("evidence.x", "1", "names nothing of an invoice"),
        ("lines[7].amount", "1", "names a line that is not there"),
        ("lines[7]", None, "names a line that is not there"),
        ("lines[0]", {"colour": "red"}, "has unknown names: colour"),
        ("totals.net", {"a": "b"}, "is a text, or null for nothing"),
    ],
)
async def test_an_edit_that_makes_no_sense_is_refused_with_its_reason(
    client: httpx2.AsyncClient, job_id: str, path: str, value: Any, says: str
) -> None:
    answer = await edit(client, job_id, 0, ("currency", "USD"), (path, value))
    assert answer.status_code == 400
    assert says in answer.json()["mistakes"][0]["message"]
    assert (await review(client, job_id))["revision"] == 0


async def test_the_second_of_two_editors_gets_a_conflict_that_says_what_changed(
    client: httpx2.AsyncClient, job_id: str
) -> None:
    first, second = await asyncio.gather(
        edit(client, job_id, 0, ("invoice_number", "A-1")),
        edit(client, job_id, 0, ("invoice_number", "B-2")),
    )
    assert sorted((first.status_code, second.status_code)) == [200, 409]
    lost = first if first.status_code == 409 else second
    problem = lost.json()
    assert problem["code"] == "REVIEW_CONFLICT"
    assert problem["revision"] == 1
    (change,) = problem["changes"]
    assert change["path"] == "invoice_number"
    kept = (await review(client, job_id))["data"]["invoice_number"]
    assert change["after"] == kept
    again = await edit(client, job_id, problem["revision"], ("invoice_number", "C-3"))
    assert again.json()["data"]["invoice_number"] == "C-3"
    stale = await send(client, job_id, "approve", revision=1)
    assert stale.status_code == 409


async def test_a_check_judges_edits_and_keeps_nothing(
    client: httpx2.AsyncClient, job_id: str
) -> None:
    wish = [{"path": "totals.gross", "value": "1.000,00"}]
    body = (await send(client, job_id, "check", edits=wish)).json()
    assert body["values"] == {"totals.gross": "1000.00"}
    assert body["checks"]["net_tax_gross"] == "broken"
    assert body["xml"]
    assert (await review(client, job_id))["revision"] == 0


async def test_what_is_approved_replaces_the_download_and_the_original_is_kept(
    client: httpx2.AsyncClient, job_id: str
) -> None:
    before = (await client.get(f"/api/jobs/{job_id}/download")).text
    await edit(client, job_id, 0, ("invoice_number", "SJA-25-0417"), ("buyer.name", "PT Baru"))
    assert (await client.get(f"/api/jobs/{job_id}/download")).text == before
    decision = await approved(client, job_id)
    assert decision["status"] == "approved"
    after = (await client.get(f"/api/jobs/{job_id}/download")).text
    assert "PT Baru" in after
    assert "PT Baru" not in before
    data = (await client.get(f"/api/jobs/{job_id}/download?form=data")).json()
    assert data["buyer"]["name"] == "PT Baru"
    assert data["review"] == []
    original = f"/api/jobs/{job_id}/download?original=true"
    assert (await client.get(original)).text == before
    status = (await client.get(f"/api/job-status/{job_id}")).json()
    assert status["result"]["buyer"]["name"] == "PT Baru"
    export = await client.post("/api/exports", json={"jobs": [job_id]})
    assert "PT Baru" in export.text
    detail = (await client.get(f"/api/jobs/{job_id}")).json()
    (event,) = [each for each in detail["events"] if each["kind"] == "reviewed"]
    assert event["meta"]["to"] == "approved"
    assert (await client.get("/api/reviews")).json()["reviews"] == []


async def test_only_one_of_two_approvals_is_kept_and_nothing_of_the_other_stays(
    client: httpx2.AsyncClient, site: Site, job_id: str
) -> None:
    stored = len(site.stored())
    answers = await asyncio.gather(*[send(client, job_id, "approve", revision=0) for _ in range(3)])
    assert sorted(each.status_code for each in answers) == [200, 409, 409]
    assert len(site.stored()) == stored + 2
    assert (await client.get(f"/api/jobs/{job_id}/download")).status_code == 200


async def test_a_rejection_needs_a_reason_and_an_edit_opens_it_again(
    client: httpx2.AsyncClient, job_id: str
) -> None:
    assert (await send(client, job_id, "reject", revision=0, reason=" ")).status_code == 400
    answer = await send(client, job_id, "reject", revision=0, reason="not an invoice")
    assert answer.json()["reason"] == "not an invoice"
    (listed,) = (await client.get("/api/reviews?status=rejected")).json()["reviews"]
    assert listed["job_id"] == job_id
    body = (await edit(client, job_id, 1, ("currency", "usd"))).json()
    assert (body["status"], body["reason"], body["revision"]) == ("pending", None, 2)
    kinds = [each["kind"] for each in body["history"]]
    assert kinds == ["rejected", "edit"]


async def test_nobody_reviews_what_is_anothers(site: Site, job_id: str) -> None:
    async with site.client() as other:
        answers = [
            await other.get(f"/api/reviews/{job_id}"),
            await edit(other, job_id, 0, ("currency", "USD")),
            await send(other, job_id, "check", edits=[]),
            await send(other, job_id, "approve", revision=0),
            await send(other, job_id, "reject", revision=0, reason="mine"),
            await other.get(f"/api/jobs/{job_id}/pages/1.png"),
            await other.get(f"/api/jobs/{job_id}/pages/1.json"),
        ]
        assert [each.status_code for each in answers] == [403] * 7
        assert (await other.get("/api/reviews")).json()["reviews"] == []
        assert (await other.get("/api/reviews/export")).text == ""


async def test_approved_reviews_are_exported_as_samples_line_by_line(
    client: httpx2.AsyncClient, job_id: str
) -> None:
    await edit(client, job_id, 0, ("invoice_number", "SJA-25-0417"))
    assert (await client.get("/api/reviews/export")).text == ""
    await approved(client, job_id)
    (line,) = (await client.get("/api/reviews/export")).text.splitlines()
    sample = json.loads(line)
    assert sample["job_id"] == job_id
    assert sample["read"]["invoice_number"] is None
    assert sample["approved"]["invoice_number"] == "SJA-25-0417"
    assert [each["path"] for each in sample["edits"]] == ["invoice_number"]


async def test_a_page_is_a_picture_and_words_and_there_is_no_page_behind_the_last(
    client: httpx2.AsyncClient, job_id: str
) -> None:
    picture = await client.get(f"/api/jobs/{job_id}/pages/1.png")
    assert picture.headers["content-type"] == "image/png"
    assert picture.content.startswith(PNG)
    known = {"if-none-match": picture.headers["etag"]}
    again = await client.get(f"/api/jobs/{job_id}/pages/1.png", headers=known)
    assert again.status_code == 304
    words = (await client.get(f"/api/jobs/{job_id}/pages/1.json")).json()
    assert (words["width"], words["height"], words["page_count"]) == (595.0, 842.0, 1)
    assert "SJA-25-0417" in [word[0] for word in words["words"]]
    missing = await client.get(f"/api/jobs/{job_id}/pages/2.png")
    assert missing.status_code == 404


async def test_a_correction_is_learned_and_the_next_of_the_layout_is_read_by_it(
    client: httpx2.AsyncClient, site: Site, sandbox: SandboxPool, job_id: str
) -> None:
    await edit(client, job_id, 0, ("invoice_number", "SJA-25-0417"))
    assert (await approved(client, job_id))["learned"] == ["invoice_number"]
    items = [("Tinta hitam", 4, 120_000), ("Map plastik", 100, 5_000)]
    second = await upload_to(client, "invoice", odd_invoice("SJA-25-1032", "PT Laut Biru", items))
    await convert(site, sandbox)
    opened = await review(client, second)
    assert opened["data"]["invoice_number"] == "SJA-25-1032"
    learned = opened["data"]["evidence"]["invoice_number"]["learned"]
    (lesson,) = (await client.get("/api/lessons")).json()["lessons"]
    assert learned == {"lesson": lesson["id"], "from": "a.pdf"}
    async with site.client() as other:
        assert (await other.get("/api/lessons")).json()["lessons"] == []
        theirs = await upload_to(other, "invoice", odd_invoice("SJA-25-2001"))
        await convert(site, sandbox)
        assert (await review(other, theirs))["data"]["invoice_number"] is None
        assert (await other.delete(f"/api/lessons/{lesson['id']}")).status_code == 404


async def test_learning_is_switched_off_and_lessons_are_forgotten(
    client: httpx2.AsyncClient, site: Site, sandbox: SandboxPool, job_id: str
) -> None:
    await edit(client, job_id, 0, ("invoice_number", "SJA-25-0417"))
    await approved(client, job_id)
    answer = await client.put("/api/lessons", json={"learning": False})
    assert answer.json()["learning"] is False
    off = await upload_to(client, "invoice", odd_invoice("SJA-25-1032"))
    await convert(site, sandbox)
    assert (await review(client, off))["data"]["invoice_number"] is None
    await edit(client, off, 0, ("issue_date", "2025-03-15"))
    assert (await approved(client, off))["learned"] == []
    await client.put("/api/lessons", json={"learning": True})
    (lesson,) = (await client.get("/api/lessons")).json()["lessons"]
    gone = await client.delete(f"/api/lessons/{lesson['id']}")
    assert gone.json() == {"forgotten": 1}
    forgotten = await upload_to(client, "invoice", odd_invoice("SJA-25-1033"))
    await convert(site, sandbox)
    assert (await review(client, forgotten))["data"]["invoice_number"] is None


async def test_what_was_not_mapped_or_is_not_ready_is_not_reviewed(
    client: httpx2.AsyncClient, site: Site
) -> None:
    waiting = await upload_to(client, "invoice", odd_invoice("SJA-25-0001"))
    answer = await client.get(f"/api/reviews/{waiting}")
    assert (answer.status_code, answer.json()["code"]) == (409, "NOT_READY")
    nowhere = await client.get("/api/reviews/3f2a")
    assert nowhere.status_code == 404


async def test_a_site_without_children_says_so(start: Start) -> None:
    async with start(offer=INVOICES) as site, site.client() as client:
        answer = await client.post("/api/upload", files=[part()])
        page = await client.get(f"/api/jobs/{answer.json()['jobId']}/pages/1.png")
        assert (page.status_code, page.json()["code"]) == (503, "BUSY")


async def test_a_value_that_was_checked_is_no_more_in_doubt_until_it_is_edited(
    client: httpx2.AsyncClient, job_id: str
) -> None:
    await edit(client, job_id, 0, ("lines[0].quantity", "7"))  # which makes another amount
    doubts, path = (await review(client, job_id))["review"], "lines[0].amount"
    assert path in doubts
    body = (await send(client, job_id, "checked", revision=1, paths=[path])).json()
    assert path not in body["review"]
    assert body["data"]["evidence"][path]["checked"] is True
    step = next(each for each in body["history"] if each["kind"] == "checked")
    assert (step["path"], step["before"]) == (path, step["after"])
    summary = (await client.get(f"/api/jobs/{job_id}")).json()["summary"]
    assert summary["check"] == len(doubts) - 1
    again = (await send(client, job_id, "checked", revision=2, paths=[path])).json()
    assert again["revision"] == 2
    edited = (await edit(client, job_id, 2, (path, "7"))).json()
    assert "checked" not in edited["data"]["evidence"][path]
    stale = await send(client, job_id, "checked", revision=2, paths=[path])
    assert (stale.status_code, stale.json()["code"]) == (409, "REVIEW_CONFLICT")


async def test_nothing_that_is_not_there_can_be_checked(
    client: httpx2.AsyncClient, job_id: str
) -> None:
    paths = ["totals.gross", "invoice_number", "lines[99].amount", "nonsense"]
    refused = await send(client, job_id, "checked", revision=0, paths=paths)
    assert refused.status_code == 400
    assert [each["at"] for each in refused.json()["mistakes"]] == [
        "body.paths.1", "body.paths.2", "body.paths.3",
    ]  # fmt: skip
    assert (await review(client, job_id))["history"] == []


async def test_checking_what_is_approved_changes_nothing(
    client: httpx2.AsyncClient, job_id: str
) -> None:
    done = await approved(client, job_id)
    body = (
        await send(client, job_id, "checked", revision=done["revision"], paths=["totals.gross"])
    ).json()
    assert (body["status"], body["revision"]) == ("approved", done["revision"])
