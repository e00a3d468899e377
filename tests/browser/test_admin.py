"""/admin as an administrator sees it: charts, failures, acts with a second question, the audit."""

from collections.abc import Mapping

import psycopg
from playwright.sync_api import Page, expect

from browser.conftest import Grounds
from browser.eyes import axe_everywhere

SETTINGS: Mapping[str, str] = {"AUTH_MODE": "local"}
# As the road would have written them: two failed jobs, one that runs, one complete.
FILL = """
SET LOCAL session_replication_role = replica;
INSERT INTO owners (owner) VALUES ('user:ann');
INSERT INTO documents (id, owner, sha256, bytes, content_type, original_filename, source,
                       upload_key)
SELECT md5(n::text)::uuid, 'user:ann', repeat('0', 64), 1000, 'application/pdf', 'a.pdf', 'upload',
       'uploads/' || n FROM generate_series(1, 4) n;
INSERT INTO jobs (id, document_id, owner, pipeline, status, progress, queued_at, started_at,
                  failed_at, error_code, error_message, completed_at, result_key, leased_by,
                  lease_expires_at, claim, attempt_count, updated_at)
SELECT md5(n::text)::uuid, md5(n::text)::uuid, 'user:ann', 'nobodys',
       (ARRAY['failed', 'failed', 'processing', 'complete'])[n], (n = 4)::int * 100,
       now() - interval '5 s', now(), CASE WHEN n < 3 THEN now() END,
       CASE WHEN n < 3 THEN 'SERVICE_GONE' END, CASE WHEN n < 3 THEN 'It is gone' END,
       CASE WHEN n = 4 THEN now() END, CASE WHEN n = 4 THEN 'results/4' END,
       CASE WHEN n = 3 THEN 'elsewhere' END, CASE WHEN n = 3 THEN now() + interval '1 hour' END,
       1, 1, now() + n * interval '1 ms' FROM generate_series(1, 4) n;
INSERT INTO sources (name, bucket, pipeline, owner)
VALUES ('mail', 's3://mail', 'extract', 'desk:fx')
"""


def test_an_administrator_sees_what_failed_and_sets_it_right(page: Page, grounds: Grounds) -> None:
    page.goto("/admin")
    expect(page.get_by_text("No job has failed.")).to_be_visible()
    with psycopg.connect(grounds.database) as conn:
        conn.execute(FILL)
    page.reload()
    expect(page.get_by_role("img", name="Jobs ended per minute")).to_be_visible()
    page.get_by_text("The last hour as a table").click()
    page.get_by_text("The 2 newest").click()
    running = page.get_by_role("row").filter(has_text="processing")
    running.get_by_text("Release…").click()
    axe_everywhere(page)
    running.get_by_role("button", name="Yes, release").click()
    expect(page.get_by_role("status")).to_contain_text("is taken back and queued")
    page.get_by_role("button", name="Retry all jobs of nobodys with SERVICE_GONE").click()
    expect(page.get_by_role("status")).to_contain_text("2 failed jobs are queued again")
    page.get_by_label("Pause mail", exact=True).click()
    page.get_by_role("button", name="Yes, pause mail").click()
    expect(page.get_by_role("status")).to_contain_text("The source mail is paused.")

    page.get_by_role("link", name="Retention").click()
    expect(page.get_by_role("heading", name="What the next sweep deletes")).to_be_visible()
    page.get_by_text("Sweep now…").click()
    axe_everywhere(page)
    page.get_by_role("button", name="Yes, sweep now").click()
    expect(page.get_by_role("status")).to_contain_text("begins within seconds")
    page.goto("/admin/cost")
    expect(page.get_by_role("heading", name="Costs")).to_be_visible()
    axe_everywhere(page)
    page.goto("/admin")

    page.get_by_role("link", name="Audit log").click()
    expect(page.get_by_text("5 rows, all as they were written.")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="source.pause")).to_contain_text("local:me")
    axe_everywhere(page)
