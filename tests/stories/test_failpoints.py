"""kill -9 at every named step of a document's way: afterwards its job is done, and done once."""

import asyncio
import signal
from uuid import UUID

import httpx2
import psycopg
import pytest

from docmill.core import failpoints
from docmill.core.plugins import PDF
from docmill.db.pool import open_pool
from docmill.storage import open_store
from documents.test_poller_crash import FILING, TAKING
from road import add_stored_job
from stories.house import House
from terminal import SOON, Served, letter, wait_for
from waits import PATIENCE

# Where each is tried: in the process that accepts, in a worker, or in a worker's retention.
ACCEPTING = ("accept.stored", "accept.committed")
RETIRING = ("expire.noted", "expire.deleted", "expire.forgotten")
WORKING = (
    "claim.before", "claim.after", "beat.before", "run.started", "result.stored",
    "settle.before", "settle.after", "rescue.before",
)  # fmt: skip


def send(client: httpx2.Client, served: Served) -> httpx2.Response:
    files = {"file": ("a.pdf", letter(), "application/pdf")}
    return client.post(
        f"{served.url}/api/upload", files=files, data={"pipeline": "extract"},
        headers={"Idempotency-Key": "once"},
    )  # fmt: skip


def acknowledged(house: House) -> None:
    """As an upload leaves it."""

    async def add() -> None:
        async with open_pool(house.url) as pool:
            store = open_store(str(house.data / "store"))
            await add_stored_job(pool, store, letter(), content_type=PDF, pipeline="extract")

    asyncio.run(add())


def test_every_failpoint_is_tried() -> None:
    asked = {"answer.kept", "step.kept", "webhook.sent"}  # in test_services, test_long, webhooks
    moved = {"move.copied", "move.left"}  # in tests/processes/test_storage
    moved |= {"embed.added", "embed.dropped"}  # in test_vectors
    moved |= {"orphan.deleted", "archive.stored"}  # in tests/jobs/test_sweep
    moved |= {"batch.listed", "batch.read", "batch.put"}  # in tests/batch
    moved |= {"backup.dumped"}  # in test_disaster
    polled = {*TAKING, *FILING}  # in tests/ingest
    parts = {name for name in failpoints.NAMES if name.startswith("part.")}  # in test_parts
    assert {*ACCEPTING, *WORKING, *RETIRING, *asked, *moved, *polled, *parts} == failpoints.NAMES


@pytest.mark.parametrize("point", WORKING)
def test_a_job_whose_worker_dies_is_done_once_by_another(house: House, point: str) -> None:
    acknowledged(house)
    house.worker_dies_at(point)
    house.finish()


@pytest.mark.parametrize("point", ACCEPTING)
def test_an_upload_cut_by_a_death_is_all_or_nothing_and_sent_again_gives_one_job(
    house: House, point: str
) -> None:
    with httpx2.Client(timeout=PATIENCE) as client:
        with house.web(DOCMILL_FAILPOINTS=f"{point}=kill") as served:
            client.get(f"{served.url}/queue")
            with pytest.raises(httpx2.TransportError):
                send(client, served)
            assert served.process.wait(SOON) == -signal.SIGKILL
        kept = len(house.states())
        assert kept == (point == "accept.committed")
        with house.web() as served:
            told = send(client, served).json()["jobId"]
    assert house.finish() == UUID(told)


@pytest.mark.parametrize("point", RETIRING)
def test_retention_that_dies_in_between_goes_on_and_tells_of_it_once(
    house: House, point: str
) -> None:
    acknowledged(house)
    short = {"DOCMILL_KEEP_RESULTS_DAYS": "1e-9"}
    house.finish(**short)
    house.worker_dies_at(point, **short)
    with house.worker(**short):
        wait_for(lambda: house.count("expired") > 0 and not house.removals())
    with psycopg.connect(house.url) as conn:
        assert conn.execute("SELECT result_key FROM jobs").fetchall() == [(None,)]
    assert house.count("expired") == 1
    assert not [one for one in (house.data / "store" / "results").rglob("*") if one.is_file()]
