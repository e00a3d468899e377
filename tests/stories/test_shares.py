"""One owner's long scans against another owner's small document, with real processes."""

from uuid import UUID

import httpx2
import numpy as np
import psycopg

from pdfs import make_pdf
from scans import Gray, picture_pdf
from stories.house import House
from terminal import wait_for
from waits import PATIENCE

PAGES = 500
SMALL = make_pdf([[(72, 72, "Invoice 7"), (72, 100, "Total 12.50")]])


def scan(seed: int) -> bytes:
    """Small pictures, each unlike all others, and each a page that has to be looked at."""
    draw = np.random.default_rng(seed)
    return picture_pdf([_picture(draw) for _ in range(PAGES)])


def _picture(draw: np.random.Generator) -> Gray:
    pixels = np.full((400, 300), 255, np.uint8)
    for top in range(20, 380, 20):
        for left in np.flatnonzero(draw.random(27) < 0.7):
            pixels[top : top + 8, 20 + 10 * left : 25 + 10 * left] = 0
    return pixels


def sent(client: httpx2.Client, url: str, data: bytes) -> str:
    files = {"file": ("a.pdf", data, "application/pdf")}
    answer = client.post(
        f"{url}/api/upload", files=files, data={"pipeline": "extract"}, timeout=PATIENCE
    )
    assert answer.status_code == 200, answer.text
    return answer.json()["jobId"]


def test_a_small_job_is_done_while_another_owners_three_long_scans_still_run(house: House) -> None:
    scans = [scan(number) for number in range(3)]  # drawn before: they come one upon the other
    with house.web() as served, house.worker(), httpx2.Client() as ann, httpx2.Client() as bob:
        longs = [UUID(sent(ann, served.url, data)) for data in scans]
        # The third waits in the lane of long documents, and being put off cost it no attempt.
        wait_for(lambda: put_off(house) == 1, lambda: str(house.states()))
        small = UUID(sent(bob, served.url, SMALL))
        wait_for(lambda: house.states()[small] == "complete", lambda: str(house.states()))
        assert running(house, longs) == 2
        assert put_off(house) == 1


def running(house: House, jobs: list[UUID]) -> int:
    states = house.states()
    return sum(states[job] == "processing" for job in jobs)


def put_off(house: House) -> int:
    asked = "SELECT count(*) FROM jobs WHERE status = 'queued' AND long AND attempt_count = 0"
    with psycopg.connect(house.url) as conn:
        row = conn.execute(asked).fetchone()
    assert row is not None
    return row[0]
