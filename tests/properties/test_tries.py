"""SPEC section 12: failing storage and database calls are tried again."""

import asyncio
import errno
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, LiteralString
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.core import owners
from docmill.core.faults import DocmillError
from docmill.db import pool as pools
from docmill.db.pool import Connection, Pool
from docmill.documents import assignments, at_once, quotas
from docmill.documents.accept import Acceptor, JobRequest
from docmill.queue import enqueue
from docmill.storage import retry
from docmill.web import limits
from docmill.web.config import QuotaConfig
from properties.senders import ANN, a_file, bring, examples
from sites import Site, Start, part, rows

pytestmark = pytest.mark.anyio

# Each makes the server itself answer with one of the errors of a database that is sick.
SICK: dict[str, LiteralString] = {
    "ended by an operator": "SELECT pg_terminate_backend(pg_backend_pid())",
    "cancelled": "SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(1)",
    "read-only": "SET TRANSACTION READ ONLY",
    "out of disk": "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '53100'; END $$",
    "internal error": "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'XX000'; END $$",
    "shutting down": "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '57P01'; END $$",
}
# Such a statement is not in a transaction that could be told to read alone.
SICK_ALONE: dict[str, LiteralString] = {
    **SICK,
    "read-only": "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '25006'; END $$",
}
REAL_SLEEP, REAL_INTRODUCE = asyncio.sleep, enqueue.ensure_owner
REAL_STATEMENT = at_once.lone_statement


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds slept between tries, without the sleeping."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        if seconds in (1.0, 2.0, 4.0):
            slept.append(seconds)
            seconds = 0
        await REAL_SLEEP(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return slept


@examples(100)
@given(st.lists(st.sampled_from(sorted(SICK)), max_size=3), st.booleans())
async def test_a_failing_database_is_tried_three_times_with_growing_waits(
    intake: Acceptor,
    pool: Pool,
    tmp_path: Path,
    waits: list[float],
    troubles: list[str],
    plain: bool,
) -> None:
    """Property 4: then the fault is told, and neither a row nor a file is left.

    What a plain upload sends at once may be written though its connection broke: then the file
    stays, until the sweep finds that no row claims it.
    """
    waits.clear()
    key = None if plain else uuid4().hex
    wanted = JobRequest(ANN, "extract", request_key=key)
    left, tries = list(troubles), 0
    before, kept = await rows(pool, "jobs"), _files(tmp_path)

    async def introduce(conn: Connection, owner: owners.OwnerKey, *, about: str = "") -> None:
        nonlocal tries
        tries += 1
        if left:
            await conn.execute(SICK[left.pop(0)])
        await REAL_INTRODUCE(conn, owner, about=about)

    @asynccontextmanager
    async def state(pool: Pool) -> AsyncGenerator[tuple[Connection, dict[str, Any]]]:
        nonlocal tries
        tries += 1
        async with REAL_STATEMENT(pool) as (conn, terms):
            if left:
                await conn.execute(SICK_ALONE[left.pop(0)])
            yield conn, terms

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(enqueue, "ensure_owner", introduce)
        patch.setattr(at_once, "lone_statement", state)
        if len(troubles) < pools.TRIES:
            await bring(intake, a_file(200), wanted)
        else:
            with pytest.raises(DocmillError) as caught:
                await bring(intake, a_file(200), wanted)
            assert caught.value.fault.code == "DATABASE_DOWN"
            assert caught.value.facts == {"retryAfter": 60}
    assert tries == min(len(troubles) + 1, pools.TRIES)
    assert waits == [1.0, 2.0][: len(troubles)]
    accepted = len(troubles) < pools.TRIES
    assert await rows(pool, "jobs") == before + accepted
    is_unsure = plain and "ended by an operator" in troubles
    assert len(_files(tmp_path) - kept) == (accepted or is_unsure)


# What an upload asks the database for, one after the other.
STEPS: dict[str, tuple[Any, str]] = {
    "the quota": (quotas, "check_room"),
    "the rate": (limits, "take_uploads"),
    "the preferences": (assignments, "read_choices"),
    "the job": (enqueue, "ensure_owner"),
}
ANYWHERE = sorted(SICK.keys() - {"read-only"})  # which no reading minds


@pytest.fixture
async def limited(start: Start) -> AsyncGenerator[Site]:
    """Every limit is on, so that every step of an upload asks the database."""
    limits = {
        "uploads_per_minute": 10**6,
        "uploads_burst": 10**6,
        "quotas": QuotaConfig(jobs=10**6),
    }
    async with start(**limits) as site:
        yield site


@examples(100)
@given(st.sampled_from(sorted(STEPS)), st.lists(st.sampled_from(ANYWHERE), max_size=3))
async def test_whatever_an_upload_asks_the_database_is_asked_three_times(
    limited: Site, waits: list[float], step: str, troubles: list[str]
) -> None:
    """Property 4 as a client meets it: 503, come back in a minute, and nothing is left."""
    waits.clear()
    left, kept = list(troubles), limited.stored()
    module, name = STEPS[step]
    real = getattr(module, name)

    async def ask(conn: Connection, *args: Any, **given: Any) -> Any:
        if left:
            await conn.execute(SICK[left.pop(0)])
        return await real(conn, *args, **given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, ask)
        async with limited.client() as client:
            answer = await client.post("/api/upload", files=[part(a_file(200))])
    assert waits == [1.0, 2.0][: len(troubles)]
    if len(troubles) < pools.TRIES:
        assert answer.status_code == 200, answer.text
        return
    assert (answer.status_code, answer.json()["retryAfter"]) == (503, 60)
    assert (answer.json()["code"], answer.headers["retry-after"]) == ("DATABASE_DOWN", "60")
    assert limited.stored() == kept


@examples(100)
@given(st.lists(st.sampled_from([errno.EIO, errno.ETIMEDOUT, errno.ECONNRESET]), max_size=3))
async def test_a_failing_store_is_tried_three_times_with_growing_waits(
    waits: list[float], numbers: list[int]
) -> None:
    """Property 4."""
    waits.clear()
    left, tries = list(numbers), 0

    def call() -> str:
        nonlocal tries
        tries += 1
        if left:
            raise OSError(left.pop(0), "the store fails")
        return "stored"

    if len(numbers) < retry.TRIES:
        assert await retry.call_with_retries(call) == "stored"
    else:
        with pytest.raises(DocmillError) as caught:
            await retry.call_with_retries(call)
        assert (caught.value.fault.code, caught.value.facts) == ("IO_ERROR", {"retryAfter": 60})
    assert tries == min(len(numbers) + 1, retry.TRIES)
    assert waits == [1.0, 2.0][: len(numbers)]


def _files(root: Path) -> set[Path]:
    return {path for path in root.rglob("*") if path.is_file()}
