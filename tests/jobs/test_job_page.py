"""The page of a job: its owner's alone, and nothing of a document in it is ever markup."""

import json
import re

import httpx2
import pytest

from docmill.core.faults import FAULTS
from docmill.jobs import preview
from sites import Site, complete, fail, part, upload

pytestmark = pytest.mark.anyio

NASTY = '<script>alert("1")</script>&amp;\'"'


async def test_what_a_document_says_is_never_markup(client: httpx2.AsyncClient, site: Site) -> None:
    sent = await client.post("/api/upload", files=[part(name="<b onclick=1>.pdf")])
    job_id = sent.json()["jobId"]
    await complete(site, job_id, json.dumps({NASTY: [NASTY, {"deep": NASTY}]}).encode())
    page = (await client.get(f"/jobs/{job_id}")).text
    assert "<script>alert" not in page
    assert "<b onclick" not in page
    assert page.count("&lt;script&gt;alert") >= 3


async def test_a_page_is_its_owners(client: httpx2.AsyncClient, site: Site) -> None:
    job_id = await upload(client)
    async with site.client() as other:
        asked = {"accept": "text/html,*/*"}
        answer = await other.get(f"/jobs/{job_id}", headers=asked)
        assert answer.status_code == 403
        assert "This file isn&#39;t yours" in answer.text
        assert job_id not in answer.text
        plain = await other.get(f"/jobs/{job_id}")
        assert plain.json()["code"] == "FORBIDDEN"


async def test_a_failed_job_shows_the_sentence_and_no_detail(
    client: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await upload(client)
    await fail(site, job_id)
    page = (await client.get(f"/jobs/{job_id}")).text
    assert "This PDF is damaged, locked or empty" in page
    assert "Open it, save it again without a password, and send that." in page
    for hidden in ("/secret/path", "the stack"):
        assert hidden not in page


@pytest.mark.parametrize("code", ["CRASHED", "GW_5XX", "GW_TIMEOUT", "IO_ERROR", "SERVICE_BUSY"])
async def test_a_job_that_failed_for_good_promises_no_retry_anywhere(
    client: httpx2.AsyncClient, site: Site, code: str
) -> None:
    job_id = await upload(client)
    await fail(site, job_id, code)
    for address in (
        f"/jobs/{job_id}",
        f"/api/jobs/{job_id}",
        f"/api/job-status/{job_id}",
        "/queue",
    ):
        answer = await client.get(address)
        assert answer.status_code == 200
        assert FAULTS[code].final in answer.text, address
        assert "ll retry" not in answer.text, address
    job = (await client.get(f"/api/jobs/{job_id}")).json()
    assert (job["error_code"], job["error_message"]) == (code, FAULTS[code].final)


def test_a_tree_counts_what_it_leaves_out() -> None:
    drawn = str(preview.draw_tree({"many": list(range(2 * preview.NODES))}))
    assert drawn.count("<li>") == preview.NODES
    assert f"… {preview.NODES + 1} more" in drawn


def test_a_tree_may_be_deep() -> None:
    deep: object = "bottom"
    for _ in range(500):
        deep = [deep]
    assert "bottom" in str(preview.draw_tree(deep))


@pytest.mark.parametrize(
    "text",
    [
        "<?xml version='1.0'?><a b=\"1\" c='2'>x &amp; y<d/></a><!-- e -->",
        '<a b="<script>"><script>1</script>',
        '<a <b>"<i onload=1>',
        "<<<>>> ]]> <![CDATA[<script>]]>",
        '<a b="1"<script c="2">',
    ],
)
def test_xml_in_colours_is_the_same_text(text: str) -> None:
    drawn = str(preview.draw_xml(text))
    tags = re.findall(r"<(?!/?span\b)[^>]*>", drawn)
    assert tags == []
    assert preview.Markup(drawn).striptags().split() == " ".join(text.split()).split()
