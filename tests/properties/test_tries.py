"""SPEC section 12: failing storage and database calls are tried again."""

import asyncio
import errno
from pathlib import Path
from typing import LiteralString

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.core import owners
from docmill.core.faults import DocmillError
from docmill.db import pool as pools
from docmill.db.pool import Connection, Pool
from docmill.documents.accept import Acceptor
from docmill.queue import enqueue
from docmill.storage import retry
from properties.senders import a_file, bring, examples
from sites import rows

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
REAL_SLEEP, REAL_INTRODUCE = asyncio.sleep, enqueue.ensure_owner


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
@given(st.lists(st.sampled_from(sorted(SICK)), max_size=3))
async def test_a_failing_database_is_tried_three_times_with_growing_waits(
    intake: Acceptor,
    pool: Pool,
    tmp_path: Path,
    waits: list[float],
    troubles: list[str],
) -> None:
    """Property 4: then the fault is told, and neither a row nor a file is left."""
    waits.clear()
    left, tries = list(troubles), 0
    before, kept = await rows(pool, "jobs"), _files(tmp_path)

    async def introduce(conn: Connection, owner: owners.OwnerKey, *, about: str = "") -> None:
        nonlocal tries
        tries += 1
        if left:
            await conn.execute(SICK[left.pop(0)])
        await REAL_INTRODUCE(conn, owner, about=about)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(enqueue, "ensure_owner", introduce)
        if len(troubles) < pools.TRIES:
            await bring(intake, a_file(200))
        else:
            with pytest.raises(DocmillError) as caught:
                await bring(intake, a_file(200))
            assert caught.value.fault.code == "DATABASE_DOWN"
            assert caught.value.facts == {"retryAfter": 60}
    assert tries == min(len(troubles) + 1, pools.TRIES)
    assert waits == [1.0, 2.0][: len(troubles)]
    accepted = len(troubles) < pools.TRIES
    assert await rows(pool, "jobs") == before + accepted
    assert len(_files(tmp_path) - kept) == accepted


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
