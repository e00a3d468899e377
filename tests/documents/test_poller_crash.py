"""Pollers die between any two steps: no object is lost, none is processed twice."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from docmill.core import failpoints
from docmill.core.jobs import Broke, Retry, settle
from docmill.db.pool import Pool
from docmill.documents import stored
from docmill.documents.poller import Bucket, poll
from docmill.documents.reconcile import reconcile, sweep
from docmill.queue import settle as queue_settle
from documents.buckets import a_bucket, confirmation, drop, objects
from road import a_result, claim
from waits import PATIENCE

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent
TAKING = ["poll.registered", "poll.moved", "accept.stored", "accept.committed", "poll.accepted",
          "poll.refused", "poll.filed", "poll.noted"]  # fmt: skip
FILING = ["poll.filed", "poll.noted"]
OBJECTS = 500
SEED = 20261116


def command(url: str, folder: Path, *more: str) -> list[str]:
    return [sys.executable, str(HERE / "pollers.py"), url, str(folder), *more]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{HERE.parent}:{HERE.parents[1]}"}


def dies_at(point: str, url: str, folder: Path) -> None:
    ran = subprocess.run(
        command(url, folder, "--fail", f"{point}=kill"), env=environment(), capture_output=True,
        text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert ran.returncode == -signal.SIGKILL, ran.stderr


async def finish(bucket: Bucket, pool: Pool) -> None:
    """What a healthy poller and a worker do in the time that follows."""
    for _ in range(3):
        async with pool.connection() as conn:
            await conn.execute("UPDATE bucket_objects SET held_until = 'epoch'")
        await poll(bucket)
        await end_jobs(pool)
    await sweep(bucket)


async def end_jobs(pool: Pool, chance: float = 0) -> int:
    async with pool.connection() as conn:
        claimed = await claim(conn, slots=50)
        settlements: list[queue_settle.Settlement] = []
        for job in claimed:
            ending = Broke("BAD_PDF") if random.random() < chance else a_result(job)
            move = settle(job, ending, retry=Retry(attempts=1), chance=0)
            settlements.append(queue_settle.Settlement(job, move))
        if settlements:
            await queue_settle.write_settlements(conn, settlements)
    return len(claimed)


LEDGER = """
SELECT o.key, count(DISTINCT j.id), count(e.id) FILTER (WHERE e.kind = 'processing')
  FROM bucket_objects o LEFT JOIN jobs j ON j.document_id = o.id
  LEFT JOIN job_events e ON e.job_id = j.id
 GROUP BY o.id, o.key
"""


async def verdict(bucket: Bucket, pool: Pool, sent: set[str]) -> dict[str, list[str]]:
    """Lost: sent and without a job. Doubled: more than one run. Astray: bucket and rows differ."""
    async with pool.connection() as conn:
        rows = await (await conn.execute(LEDGER)).fetchall()
    counts = await reconcile(bucket)
    return {
        "lost": sorted(sent - {key for key, _, runs in rows if runs}),
        "doubled": sorted(key for key, jobs, runs in rows if jobs > 1 or runs > 1),
        "twice registered": sorted(
            {key for key, _, _ in rows if [r[0] for r in rows].count(key) > 1}
        ),
        "astray": [each.prefix for each in counts if each.unknown or each.missing or each.waiting],
    }


CLEAN: dict[str, list[str]] = {"lost": [], "doubled": [], "twice registered": [], "astray": []}


def test_every_failpoint_of_the_poller_is_tried_here() -> None:
    assert {*TAKING, *FILING} >= {name for name in failpoints.NAMES if name.startswith("poll.")}


@pytest.mark.parametrize("point", TAKING)
async def test_a_poller_that_dies_while_taking_loses_and_doubles_nothing(
    pool: Pool, database_url: str, tmp_path: Path, point: str
) -> None:
    name = "a.txt" if point in {"poll.refused", "poll.filed"} else "a.pdf"
    drop(tmp_path, name)
    bucket = a_bucket(pool, tmp_path)
    dies_at(point, database_url, tmp_path)
    await finish(bucket, pool)
    refused = name == "a.txt"
    sent: set[str] = set() if refused else {f"incoming/{name}"}
    assert await verdict(bucket, pool, sent) == CLEAN
    (key,) = objects(tmp_path)
    assert key.startswith("failed/" if refused else "archive/")


@pytest.mark.parametrize("point", FILING)
async def test_a_poller_that_dies_while_filing_files_it_later(
    pool: Pool, database_url: str, tmp_path: Path, point: str
) -> None:
    drop(tmp_path, "a.pdf")
    bucket = a_bucket(pool, tmp_path)
    await poll(bucket)
    await end_jobs(pool)
    dies_at(point, database_url, tmp_path)
    await finish(bucket, pool)
    assert await verdict(bucket, pool, {"incoming/a.pdf"}) == CLEAN
    (key,) = objects(tmp_path)
    assert key.startswith("archive/")


@contextmanager
def two_mortal_pollers(url: str, folder: Path) -> Generator[None]:
    names = [name for name in failpoints.NAMES if name.startswith(("poll.", "accept."))]
    fail = ",".join(f"{name}=kill:0.01" for name in sorted(names))
    running = [
        subprocess.Popen(
            command(url, folder, "--fail", fail, "--for-ever", str(SEED + number)),
            env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for number in range(2)
    ]  # fmt: skip
    try:
        yield
    finally:
        for process in running:
            process.terminate()
            assert process.wait(PATIENCE) == 0


async def test_two_pollers_and_500_objects_with_kills_at_random(
    pool: Pool, database_url: str, quick_path: Path
) -> None:
    random.seed(SEED)
    sent = {f"incoming/{number:03}.pdf" for number in range(OBJECTS)}
    for number in range(OBJECTS):
        drop(quick_path, f"{number:03}.pdf", confirmation("same" if number % 2 else str(number)))
    bucket = a_bucket(pool, quick_path)
    with two_mortal_pollers(database_url, quick_path):
        async with asyncio.timeout(5 * PATIENCE):
            while filed(quick_path) != OBJECTS:
                await end_jobs(pool, chance=0.1)
                await asyncio.sleep(0.05)
    await finish(bucket, pool)
    print("seed", SEED, "deaths", len(deaths(quick_path)))  # noqa: T201
    assert len(deaths(quick_path)) >= 5, "too mild to prove anything"
    assert await verdict(bucket, pool, sent) == CLEAN
    assert not [path for path in (quick_path / "store").rglob("*") if path.is_file()]
    await every_document_is_read_from_the_bucket(bucket, pool)
    await the_verdict_sees_what_is_wrong(bucket, pool, quick_path, sent)


async def every_document_is_read_from_the_bucket(bucket: Bucket, pool: Pool) -> None:
    """Wherever it was filed: its bytes are what its row says."""
    async with pool.connection() as conn:
        originals = await stored.list_objects(conn, stored.ORIGINAL, after="", limit=OBJECTS + 1)
    assert len(originals) == OBJECTS
    for each in originals:
        (await stored.open_known(pool, bucket.acceptor.store, each)).close()


async def the_verdict_sees_what_is_wrong(
    bucket: Bucket, pool: Pool, folder: Path, sent: set[str]
) -> None:
    """The control: an object that is lost, one that is doubled, and one that is nobody's."""
    async with pool.connection() as conn:
        await conn.execute(
            "INSERT INTO job_events (job_id, kind) SELECT id, 'processing' FROM jobs LIMIT 1"
        )
    (folder / "bucket" / objects(folder)[0]).unlink()
    found = await verdict(bucket, pool, {*sent, "incoming/lost.pdf"})
    assert (found["lost"], len(found["doubled"]), len(found["astray"])) == (
        ["incoming/lost.pdf"],
        1,
        1,
    )


def filed(folder: Path) -> int:
    return sum(key.startswith(("archive/", "failed/")) for key in objects(folder))


def deaths(folder: Path) -> str:
    path = folder / "deaths"
    return path.read_text() if path.exists() else ""
