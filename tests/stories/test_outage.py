"""PostgreSQL goes away: whoever asks about what has ended is answered at once, and rightly."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, asynccontextmanager

import httpx2
import pytest

from docmill.core.jobs import Broke
from docmill.db.pool import Connection, open_pool
from jobs.test_kept import database_away
from road import claim
from sites import a_pdf, settle_as, upload
from stories.house import House
from terminal import Served, Terminal
from valkeys import running_valkey
from waits import PATIENCE, until

pytestmark = pytest.mark.anyio

JOBS = 20
AT_ONCE = 200


@pytest.fixture(params=["memory", "valkey"])
def variables(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    given = {
        "AUTH_MODE": "session", "DOCMILL_UPLOADS_PER_MINUTE": "0", "REDIS_URL": "",
        "DOCMILL_DEFAULT_PIPELINE": "extract",
    }  # fmt: skip
    with ExitStack() as stack:
        if request.param == "valkey":
            given["REDIS_URL"] = stack.enter_context(running_valkey()).url
        yield given


@asynccontextmanager
async def browse(web: Served, cookie: str = "") -> AsyncGenerator[httpx2.AsyncClient]:
    """Another browser, or one that holds this cookie."""
    cookies = {"docmill_session": cookie} if cookie else None
    async with httpx2.AsyncClient(
        base_url=web.url, timeout=PATIENCE, trust_env=False, cookies=cookies,
        limits=httpx2.Limits(max_connections=None),
    ) as client:  # fmt: skip
        yield client


async def fail_all(conn: Connection) -> None:
    for _ in range(JOBS):
        (claimed,) = await claim(conn)
        await settle_as(conn, claimed, Broke("BAD_PDF", "detail", "the stack"))


async def read_waits(client: httpx2.AsyncClient) -> float:
    """How often somebody had to stand in line for the database."""
    lines = (await client.get("/metrics")).text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("database_pool_waits_"))


async def read_code(client: httpx2.AsyncClient, job_id: str) -> tuple[int, str | None]:
    answer = await client.get(f"/api/job-status/{job_id}")
    return answer.status_code, answer.headers.get("retry-after")


async def test_two_webs_answer_two_hundred_at_once_without_a_database(
    house: House, variables: dict[str, str], database_url: str
) -> None:
    other = House(Terminal(house.terminal.home / "other", house.terminal.variables), house.url)
    other.terminal.home.mkdir()
    with house.web(**variables) as first, other.web(**variables) as second:
        async with browse(first) as here, browse(second) as stranger, open_pool(house.url) as pool:
            jobs = [await upload(here, a_pdf(str(number))) for number in range(JOBS)]
            async with pool.connection() as conn:
                await fail_all(conn)
            async with browse(second, here.cookies["docmill_session"]) as there:
                told = {each: (await here.get(f"/api/job-status/{each}")).json() for each in jobs}
                if not variables["REDIS_URL"]:  # then each web knows what it was asked itself
                    assert {one: (await there.get(f"/api/job-status/{one}")).json()
                            for one in jobs} == told  # fmt: skip
                retried = jobs.pop()
                assert (await there.post(f"/api/jobs/{retried}/retry")).status_code == 200
                await stranger.get("/api/jobs")
                waits = [await read_waits(one) for one in (here, there)]
                async with database_away(database_url):
                    asked = [jobs[number % len(jobs)] for number in range(AT_ONCE)]
                    answers = await asyncio.gather(
                        *((here, there)[number % 2].get(f"/api/job-status/{each}")
                          for number, each in enumerate(asked))
                    )  # fmt: skip
                    assert [one.status_code for one in answers] == [200] * AT_ONCE
                    assert [one.json() for one in answers] == [told[each] for each in asked]
                    assert [await read_waits(one) for one in (here, there)] == waits

                    async def is_forgotten() -> bool:
                        return await read_code(here, retried) == (503, "30")

                    await until(is_forgotten)
                    assert await read_code(stranger, jobs[0]) == (503, "30")
