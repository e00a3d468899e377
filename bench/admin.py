"""The admin page behind 100,000 jobs: what the server takes for it, and a browser to first paint.

`python -m bench.admin`; with --plans also what each statement of the page reads.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import httpx2
import psycopg
from playwright.sync_api import sync_playwright

from bench import filling, ground
from bench.ground import Ground, Site

GOAL_MS: Final = 500.0
PAGES: Final = ("/admin", "/admin/cost", "/admin/retention")
OWNERS: Final = 200
# Of the ended ones some ended in the last hour and some failed; a few run.
RECENT: Final = """
UPDATE jobs SET completed_at = now() - (random() * 3600) * interval '1 second',
       queued_at = now() - interval '1 hour 1 minute', result_key = 'results/' || id
 WHERE status = 'complete' AND start_tag <= 5000
"""
FAILED: Final = """
UPDATE jobs SET status = 'failed', failed_at = completed_at, completed_at = NULL, result_key = NULL,
       expires_at = NULL, error_code = (ARRAY['BAD_PDF', 'GW_5XX', 'CRASHED', 'GW_4XX'])[1 + start_tag % 4],
       error_message = 'It failed', pipeline = (ARRAY['extract', 'invoice'])[1 + start_tag % 2]
 WHERE status = 'complete' AND start_tag BETWEEN 4001 AND 9000
"""  # noqa: E501
WORKERS: Final = """
INSERT INTO workers (id, host, machine, pid, slots, pipelines, version)
SELECT 'w' || n, 'host' || n, 'm', n, 3, ARRAY['extract'], '1' FROM generate_series(1, 5) n
"""
RUNNING: Final = """
UPDATE jobs SET status = 'processing', leased_by = 'w' || 1 + start_tag % 5, started_at = now(),
       lease_expires_at = now() + interval '1 hour', claim = 1, attempt_count = 1
 WHERE status = 'queued' AND id IN (SELECT id FROM jobs WHERE status = 'queued' LIMIT 15)
"""
ATTEMPTS: Final = """
INSERT INTO job_attempts (job_id, claim, attempt, worker, started_at, ended_at, outcome, cpu_ms,
                          calls)
SELECT id, 1, 1, 'w1', created_at, coalesce(completed_at, failed_at), status, 100, 1
  FROM jobs WHERE status IN ('complete', 'failed')
"""
RESULTS: Final = """
INSERT INTO results (job_id, claim, form, key, content_type, bytes, stored_bytes, sha256, version)
SELECT id, 1, 'data', result_key, 'application/json', 1000, 500, repeat('0', 64), '1'
  FROM jobs WHERE status = 'complete'
"""
TOLD: Final = """
INSERT INTO job_events (job_id, kind, at, meta)
SELECT id, kind, created_at, '{}' FROM jobs CROSS JOIN unnest(ARRAY['created', 'queued', 'complete']) kind
 WHERE kind <> 'complete' OR status = 'complete' ORDER BY created_at
"""  # noqa: E501


def fill(url: str, jobs: int) -> None:
    waiting = jobs // 10
    with psycopg.connect(url) as conn:
        filling.owners(conn, OWNERS)
        filling.finished(conn, jobs - waiting)
        conn.commit()
        filling.queued(conn, waiting)
        for statement in (RECENT, FAILED, WORKERS, RUNNING, ATTEMPTS, RESULTS, TOLD):
            conn.execute(statement)
    filling.settle_down(url)


def measure_server(site: Site, path: str, times: int) -> list[float]:
    """Milliseconds of one request after the other."""
    took: list[float] = []
    with httpx2.Client(base_url=f"http://127.0.0.1:{site.port}", timeout=60) as client:
        for _ in range(times):
            began = time.perf_counter()
            answer = client.get(path)
            answer.raise_for_status()
            took.append((time.perf_counter() - began) * 1000)
    return took


PAINT: Final = """
() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime
"""


def measure_paint(site: Site, path: str, times: int) -> list[float]:
    """Milliseconds from the click to the first content, in a browser that has been there before."""
    took: list[float] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        page = browser.new_page()
        for _ in range(times + 1):
            page.goto(f"http://127.0.0.1:{site.port}{path}")
            page.wait_for_function("() => performance.getEntriesByType('paint').length > 0")
            took.append(page.evaluate(PAINT))
        browser.close()
    return took[1:]


def tell(name: str, took: list[float]) -> float:
    middle = statistics.median(took)
    print(f"{name:34} median {middle:6.0f} ms, best {min(took):5.0f}, worst {max(took):6.0f}")
    return middle


def measure(at: Ground, jobs: int, times: int) -> bool:
    url = at.migrated("admin")
    fill(url, jobs)
    started: Callable[..., Any] = ground.serving
    with started(
        ground.DOCMILL, "web", "--port", "0", "--data", str(at.folder / "data"),
        DATABASE_URL=url, AUTH_MODE="local", DOCMILL_READS_PER_MINUTE="0",
    ) as site:  # fmt: skip
        measure_server(site, "/admin", 3)
        painted = 0.0
        for path in PAGES:
            before = site.cpu_seconds()
            tell(f"server, {path}", measure_server(site, path, times))
            print(f"{'':34} {1000 * (site.cpu_seconds() - before) / times:.0f} ms of the web's CPU")
            middle = tell(f"first paint, {path}", measure_paint(site, path, times))
            painted = middle if path == "/admin" else painted
    return painted < GOAL_MS


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=10)
    given = parser.parse_args()
    with ground.prepared(quick=False) as at:
        sys.exit(0 if measure(at, given.jobs, given.times) else 1)


if __name__ == "__main__":
    main()
