"""Signed addresses of stored files: they open one file, for a while, and cannot be bent."""

import hashlib
from datetime import timedelta
from uuid import uuid4

import httpx2
import pytest

from docmill.documents.links import SECRET_KEY, SignedLinks
from sites import PDF_FILE, Site
from waits import PATIENCE

pytestmark = pytest.mark.anyio

HOUR = timedelta(hours=1)


async def link(
    site: Site, key: str = "uploads/a", expires: timedelta = HOUR, data: bytes = PDF_FILE
) -> str:
    """To an object that a document's row points to, as every one that is linked to."""
    await site.services.store.put(key, data)
    facts = (uuid4(), hashlib.sha256(data).hexdigest(), len(data), key)
    async with site.services.pool.connection() as conn:
        await conn.execute("INSERT INTO owners (owner) VALUES ('session:x') ON CONFLICT DO NOTHING")
        await conn.execute(
            "INSERT INTO documents (id, owner, sha256, bytes, content_type, original_filename,"
            " source, upload_key) VALUES (%s, 'session:x', %s, %s, 'application/pdf', 'a.pdf',"
            " 'api', %s)",
            facts,
        )
    links = SignedLinks(site.services.store)
    return await links.url(key, expires=expires, base=site.url, filename="Bestätigung 1.pdf")


async def test_a_signed_address_opens_the_exact_file_for_anybody(site: Site) -> None:
    url = await link(site)
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as stranger:
        answer = await stranger.get(url)
    assert (answer.status_code, answer.content) == (200, PDF_FILE)
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.headers["content-disposition"].startswith("inline; filename=")
    assert "Best%C3%A4tigung%201.pdf" in answer.headers["content-disposition"]
    assert answer.headers["cache-control"] == "private, no-store"
    assert "set-cookie" not in answer.headers


async def test_what_is_no_pdf_is_never_shown_as_a_page_of_ours(
    site: Site, client: httpx2.AsyncClient
) -> None:
    url = await link(site, data=b"<script>alert(1)</script>")
    answer = await client.get(url)
    assert answer.status_code == 200
    assert answer.headers["content-disposition"].startswith("attachment; filename=")
    assert not answer.headers["content-type"].startswith("text/html")


async def test_an_address_whose_time_is_over_is_refused(
    site: Site, client: httpx2.AsyncClient
) -> None:
    answer = await client.get(await link(site, expires=timedelta(0)))
    assert (answer.status_code, answer.json()["code"]) == (403, "LINK_EXPIRED")


@pytest.mark.parametrize(
    ("old", "new"),
    [("uploads/a", "uploads/b"), ("until=1", "until=2"), ("name=Best", "name=Test"),
     ("signature=", "signature=0"), ("uploads/a", SECRET_KEY)],
)  # fmt: skip
async def test_a_changed_address_is_refused(
    site: Site, client: httpx2.AsyncClient, old: str, new: str
) -> None:
    await site.services.store.put("uploads/b", b"%PDF another's")
    url = await link(site)
    changed = url.replace(old, new)[: len(url) + len(new) - len(old)]
    assert changed != url
    answer = await client.get(changed)
    assert (answer.status_code, answer.json()["code"]) in {
        (403, "LINK_EXPIRED"),
        (400, "BAD_REQUEST"),
    }
    assert b"another" not in answer.content


async def test_every_process_of_one_store_believes_the_same_addresses(site: Site) -> None:
    url = await link(site)
    other = SignedLinks(site.services.store)
    signature = url.rpartition("signature=")[2]
    until = int(url.partition("until=")[2].partition("&")[0])
    await other.check("uploads/a\nBestätigung 1.pdf", until, signature)


async def test_a_file_that_retention_removed_is_told_so(
    site: Site, client: httpx2.AsyncClient
) -> None:
    url = await link(site)
    await site.services.store.delete("uploads/a")
    answer = await client.get(url)
    assert (answer.status_code, answer.json()["code"]) == (404, "EXPIRED")
