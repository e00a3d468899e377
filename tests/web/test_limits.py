"""Limits by owner and by address: files are counted, not requests, in buckets of tokens."""

import asyncio
from collections.abc import Callable

import pytest
from starlette.requests import Request

from docmill.core.faults import DocmillError
from docmill.core.jobs import ReportProgress, Usage
from docmill.core.owners import OwnerKey
from docmill.core.plugins import Artifact
from docmill.db.pool import Pool
from docmill.documents.previews import FairTurns
from docmill.sandbox.outcome import RunReturned, Task
from docmill.web import limits
from docmill.web.limits import TokenBuckets, UploadRate, client_address
from sites import Start, a_pdf, part, rows, upload
from waits import PATIENCE

pytestmark = pytest.mark.anyio

ANN, BOB, CAT = (OwnerKey(f"session:{name}") for name in ("ann", "bob", "cat"))


class Clock:
    def __init__(self) -> None:
        self.now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_gives_its_burst_at_once_and_then_a_token_as_often_as_they_come() -> None:
    clock = Clock()
    buckets = TokenBuckets(UploadRate(10, 3), clock)
    assert [buckets.take("a").given for _ in range(4)] == [1, 1, 1, 0]
    assert buckets.take("a").retry_after == pytest.approx(6)
    assert buckets.take("b", 5).given == 3
    clock.now += 6
    assert [buckets.take("a").given for _ in range(2)] == [1, 0]
    clock.now += 3600
    assert buckets.take("a", 9) == UploadRate(10, 3).grant(3, 18)


async def test_an_owners_bucket_is_one_for_all_web_processes(pool: Pool) -> None:
    async def take(wanted: int) -> int:
        async with pool.connection() as conn:
            return (await limits.take_uploads(conn, ANN, wanted, UploadRate(1, 5))).given

    assert await take(3) == 3
    assert sorted(await asyncio.gather(*(take(1) for _ in range(4)))) == [0, 0, 1, 1]
    async with pool.connection() as conn:
        grant = await limits.take_uploads(conn, ANN, 1, UploadRate(1, 5))
        assert (grant.given, grant.left) == (0, 0)
        assert 0 < grant.retry_after <= 60
        await conn.execute("UPDATE owners SET window_started_at = now() + interval '2 minutes'")
        assert (await limits.take_uploads(conn, ANN, 9, UploadRate(1, 5))).given == 3


async def test_of_many_files_in_one_request_each_that_fits_is_taken(
    start: Start, pool: Pool
) -> None:
    async with start(uploads_per_minute=1, uploads_burst=3) as site, site.client() as client:
        files = [part(a_pdf(str(n)), f"{n}.pdf") for n in range(5)]
        answer = await client.post("/api/upload", files=files)
        assert answer.status_code == 200
        assert [one.get("code", "") for one in answer.json()["jobs"]] == [
            "", "", "", "RATE_LIMITED", "RATE_LIMITED",
        ]  # fmt: skip
        assert answer.json()["jobs"][4]["retryAfter"] > 0
        assert answer.headers["ratelimit-remaining"] == "0"
        assert await rows(pool, "jobs") == 3
        again = await client.post("/api/upload", files=files[3:])
        assert (again.status_code, again.json()["code"]) == (429, "RATE_LIMITED")
        assert int(again.headers["retry-after"]) > 0
        assert again.headers["ratelimit-limit"] == "3"
        assert int(again.headers["ratelimit-reset"]) > 0
    assert await rows(pool, "jobs") == 3
    assert len([key for key in site.stored() if "upload" in key]) == 3


async def test_thirty_files_dropped_at_once_meet_no_limit(start: Start) -> None:
    async with start(uploads_per_minute=10) as site, site.client() as client:
        await upload(client, a_pdf("first"))
        answers = [await client.post("/api/upload", files=[part(a_pdf(str(n)))]) for n in range(29)]
        assert {answer.status_code for answer in answers} == {200}


async def test_who_drops_the_cookie_is_counted_by_address(start: Start) -> None:
    async with start(uploads_per_minute=1, uploads_burst=3) as site:
        statuses: list[int] = []
        for number in range(5):
            async with site.client() as stranger:
                files = [part(a_pdf(str(number)))]
                statuses.append((await stranger.post("/api/upload", files=files)).status_code)
        assert statuses == [200, 200, 200, 429, 429]


async def test_who_keeps_a_session_is_not_hindered_by_strangers_at_the_same_address(
    start: Start,
) -> None:
    async with start(uploads_per_minute=1, uploads_burst=3) as site, site.client() as client:
        await upload(client, a_pdf("mine"))
        for number in range(4):
            async with site.client() as stranger:
                await stranger.post("/api/upload", files=[part(a_pdf(str(number)))])
        await upload(client, a_pdf("mine too"))


async def test_reads_have_a_limit_of_their_own(start: Start) -> None:
    async with start(reads_per_minute=5) as site, site.client() as client:
        await client.get("/api/jobs")  # brings the session
        statuses = [(await client.get("/api/jobs")).status_code for _ in range(6)]
        assert statuses == [200] * 5 + [429]
        for path in ("/api/jobs", "/api/events", "/api/search?q=a", "/api/documents"):
            answer = await client.get(path)
            assert (answer.status_code, answer.json()["code"]) == (429, "TOO_MANY_REQUESTS"), path
            assert int(answer.headers["retry-after"]) > 0
        for page in ("/queue", "/queue/events", "/settings"):
            assert (await client.get(page)).status_code == 429, page
        await upload(client)


@pytest.mark.parametrize(
    ("peer", "forwarded", "proxies", "address"),
    [
        ("10.0.0.1", "1.2.3.4", (), "10.0.0.1"),
        ("10.0.0.1", "6.6.6.6, 1.2.3.4", ("10.0.0.0/8",), "1.2.3.4"),
        ("10.0.0.1", "6.6.6.6, 1.2.3.4, 10.9.9.9", ("10.0.0.0/8",), "1.2.3.4"),
        ("9.9.9.9", "1.2.3.4", ("10.0.0.0/8",), "9.9.9.9"),
        ("10.0.0.1", "", ("10.0.0.0/8",), "10.0.0.1"),
        ("10.0.0.1", "nonsense", ("10.0.0.0/8",), "nonsense"),
        ("2001:db8:1:2:3:4:5:6", "", (), "2001:db8:1:2::/64"),
        ("::ffff:1.2.3.4", "", (), "1.2.3.4"),
    ],
)
def test_the_address_is_the_peers_unless_a_trusted_proxy_says_otherwise(
    peer: str, forwarded: str, proxies: tuple[str, ...], address: str
) -> None:
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    request = Request({"type": "http", "client": (peer, 1), "headers": headers})
    assert client_address(request, proxies) == address


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.01)


class Children:
    """Confined runs that last until they are let go."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.running: int = 0
        self.gate: asyncio.Event = asyncio.Event()

    async def run(self, task: Task, document: int, progress: ReportProgress) -> RunReturned:
        self.asked.append(task.options["page"])
        self.running += 1
        try:
            await self.gate.wait()
        finally:
            self.running -= 1
        return RunReturned(b"{}", "1", Usage(), Artifact(b"picture", "image/png"))


async def test_an_owner_who_asks_for_thirty_pages_does_not_keep_another_waiting(
    start: Start,
) -> None:
    children = Children()
    async with start(sandbox=children) as site, site.client() as ann, site.client() as bob:
        anns, bobs = await upload(ann, a_pdf("ann")), await upload(bob, a_pdf("bob"))
        many = [
            asyncio.create_task(ann.get(f"/api/jobs/{anns}/pages/{page}.png"))
            for page in range(1, 31)
        ]
        await until(lambda: len(children.asked) == 2)
        one = asyncio.create_task(bob.get(f"/api/jobs/{bobs}/pages/99.png"))
        await until(lambda: 99 in children.asked)
        assert len(children.asked) == 3
        children.gate.set()
        assert (await one).content == b"picture"
        assert {(await each).status_code for each in many} == {200}


async def test_pages_that_nobody_waits_for_any_more_are_not_drawn(start: Start) -> None:
    children = Children()
    async with start(sandbox=children) as site, site.client() as ann:
        job_id = await upload(ann)
        leaving = site.client(cookies=ann.cookies)
        many = [
            asyncio.create_task(leaving.get(f"/api/jobs/{job_id}/pages/{page}.png"))
            for page in range(1, 9)
        ]
        await until(lambda: children.running == 2)
        for each in many:
            each.cancel()
        await asyncio.gather(*many, return_exceptions=True)
        await leaving.aclose()
        await until(lambda: children.running == 0)
        assert len(children.asked) < 8
        children.gate.set()
        assert (await ann.get(f"/api/jobs/{job_id}/pages/1.png")).status_code == 200


async def test_turns_go_round_and_one_owner_never_has_all_places() -> None:
    turns, began = FairTurns(3, most_waiting=4), list[OwnerKey]()
    gates: list[asyncio.Event] = []

    async def run(owner: OwnerKey) -> None:
        async with turns.turn(owner):
            began.append(owner)
            gates.append(asyncio.Event())
            await gates[-1].wait()

    tasks = [asyncio.create_task(run(ANN)) for _ in range(6)]
    await until(lambda: began == [ANN, ANN])
    with pytest.raises(DocmillError, match="BUSY"):
        await run(ANN)
    tasks += [asyncio.create_task(run(owner)) for owner in (BOB, BOB, CAT)]
    await until(lambda: began == [ANN, ANN, BOB])
    tasks[2].cancel()
    gates[0].set()
    await until(lambda: len(began) == 4)
    gates[1].set()
    await until(lambda: len(began) == 5)
    assert {*began[3:]} <= {ANN, BOB, CAT}
    assert CAT in began[3:] or began.count(BOB) == 2
    for place in range(8):
        await until(lambda place=place: len(gates) > place)
        gates[place].set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert sorted(began) == sorted([ANN] * 5 + [BOB] * 2 + [CAT])
