"""The review page as it is served."""

import httpx2
import pytest

from invoices.test_reviews import job_id, sandbox, site

pytestmark = pytest.mark.anyio
__all__ = ["job_id", "sandbox", "site"]


async def test_the_page_shows_what_to_check_and_the_document(
    client: httpx2.AsyncClient, job_id: str
) -> None:
    page = await client.get(f"/review/{job_id}")
    assert page.status_code == 200
    assert 'name="invoice_number"' in page.text
    assert f"/api/jobs/{job_id}/pages/1.png" in page.text
    assert "Not found on the page" in page.text
    assert f'href="/settings?back=/review/{job_id}"' in page.text
    assert job_id in (await client.get("/review")).text
    assert 'id="values"' in (await client.get(f"/review/{job_id}/values")).text
