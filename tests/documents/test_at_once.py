"""A plain upload in one statement: it writes what the single steps would, and no less surely."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final
from uuid import UUID, uuid4

import httpx2
import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

from docmill.core import owners
from docmill.core.documents import NewDocument
from docmill.core.faults import DocmillError
from docmill.core.jobs import DocumentId, Job, JobId
from docmill.core.owners import Owner
from docmill.db import wall
from docmill.db.notify import WORK, Notifier
from docmill.db.pool import CommitUnknownError, Connection, Pool
from docmill.documents import at_once
from docmill.documents.at_once import NOTHING, BelievedChoices, NewUpload, add_at_once
from docmill.jobs.preferences import Preferences, save_preferences
from docmill.queue import enqueue
from docmill.queue.enqueue import NewJob
from sites import Site, a_pdf, part, rows, upload
from waits import PATIENCE

pytestmark = pytest.mark.anyio

ANN: Final = owners.user("ann")
REAL_STATEMENT = at_once.lone_statement
# What differs from job to job, whoever writes it.
OWN: Final = frozenset(
    {"id", "document_id", "job_id", "sha256", "upload_key", "dedupe_key", "start_tag"}
)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One for each plain upload that was tried."""
    tried: list[str] = []

    @asynccontextmanager
    async def count(pool: Pool) -> AsyncGenerator[tuple[Connection, dict[str, Any]]]:
        async with REAL_STATEMENT(pool) as (conn, terms):
            tried.append(terms["role"])
            yield conn, terms

    monkeypatch.setattr(at_once, "lone_statement", count)
    return tried


async def read_rows(pool: Pool, job_id: str) -> list[dict[str, Any]]:
    """All that is written of a job, without what is its own; times as how far from the first."""
    found: list[dict[str, Any]] = []
    async with pool.connection() as conn, conn.cursor(row_factory=dict_row) as cur:
        for query in (
            "SELECT * FROM jobs WHERE id = %s",
            "SELECT d.* FROM documents d JOIN jobs j ON j.document_id = d.id WHERE j.id = %s",
            "SELECT job_id, kind, worker, meta, at FROM job_events WHERE job_id = %s ORDER BY id",
        ):
            found += await (await cur.execute(query, (UUID(job_id),))).fetchall()
    began_at = found[0]["created_at"]
    for row in found:
        for name in [*row]:
            if name in OWN | {"updated_at", "at"}:
                row[name] = row[name] is not None
            elif hasattr(row[name], "tzinfo"):
                row[name] -= began_at
    return found


async def test_it_writes_what_the_steps_write(
    client: httpx2.AsyncClient, site: Site, statements: list[str]
) -> None:
    plain = await client.post("/api/upload", files=[part(a_pdf("1"))])
    steps = {"Idempotency-Key": "a"}
    other = await client.post("/api/upload", files=[part(a_pdf("2"))], headers=steps)
    assert len(statements) == 1
    told = plain.json(), other.json()
    written = [await read_rows(site.services.pool, one["jobId"]) for one in told]
    assert len(written[0]) == 4
    assert written[0] == written[1]
    assert {name: type(value) for name, value in told[0]["job"].items()} == {
        name: type(value) for name, value in told[1]["job"].items()
    }


async def test_the_job_is_told_as_it_is_read(pool: Pool) -> None:
    document, job = describe(ANN)
    added = await add_at_once(pool, NewUpload(document, job, None, NOTHING))
    async with pool.connection() as conn:
        assert isinstance(added, Job)
        assert added == await enqueue.find_job(conn, job.id)


async def test_each_job_comes_later_in_its_owners_line_and_clock(
    client: httpx2.AsyncClient, site: Site
) -> None:
    for number in range(3):
        await upload(client, a_pdf(str(number)))
    async with site.services.pool.connection() as conn:
        query = "SELECT start_tag, updated_at FROM jobs ORDER BY created_at"
        found = await (await conn.execute(query)).fetchall()
        owner = await (await conn.execute("SELECT last_tag, changed_at FROM owners")).fetchone()
    assert len(set(found)) == 3
    assert found == sorted(found)
    assert owner == found[-1]


async def prefer(site: Site, pipeline: str) -> None:
    """The one owner who is here, as another process would write it."""
    async with site.services.pool.connection() as conn:
        (owner,) = await (await conn.execute("SELECT owner FROM owners")).fetchall()
        await save_preferences(conn, owner[0], Preferences(pipeline=pipeline))


async def test_what_the_owner_has_chosen_meanwhile_is_asked_for_and_kept(
    client: httpx2.AsyncClient, site: Site, statements: list[str]
) -> None:
    await upload(client)
    for pipeline, tries in (("study", 2), ("study", 1), ("extract", 2)):
        statements.clear()
        await prefer(site, pipeline)
        answer = await client.post("/api/upload", files=[part(a_pdf(uuid4().hex))])
        assert answer.json()["job"]["pipeline"] == pipeline
        assert len(statements) == tries


async def test_a_file_that_only_the_owners_own_pipeline_takes_comes_in(
    client: httpx2.AsyncClient, site: Site
) -> None:
    await upload(client)
    sent = [part(b"plain words", name="a.txt")]
    assert (await client.post("/api/upload", files=sent)).status_code == 400
    await prefer(site, "study")
    assert (await client.post("/api/upload", files=sent)).status_code == 200


async def test_the_same_bytes_again_are_the_same_job(
    client: httpx2.AsyncClient, site: Site
) -> None:
    first = await client.post("/api/upload", files=[part(a_pdf("1"))])
    again = await client.post("/api/upload", files=[part(a_pdf("1"))])
    assert again.json()["jobId"] == first.json()["jobId"]
    assert [one.json()["outcome"] for one in (first, again)] == ["created", "existing"]
    assert len(site.stored()) == 1


async def test_nobody_writes_behind_anothers_wall(pool: Pool) -> None:
    document, job = describe(ANN)
    wall.enclose(owners.user("bob"))
    with pytest.raises(DocmillError) as caught:
        await add_at_once(pool, NewUpload(document, job, None, NOTHING))
    assert isinstance(caught.value.__cause__, psycopg.errors.InsufficientPrivilege)
    assert not isinstance(caught.value, CommitUnknownError)
    wall.open_for_admin()
    assert await rows(pool, "owners") == 0


async def test_what_a_connection_sees_is_as_before(pool: Pool) -> None:
    wall.enclose(ANN)
    assert isinstance(await add_at_once(pool, NewUpload(*describe(ANN), None, NOTHING)), Job)
    wall.open_for_admin()
    assert await rows(pool, "jobs") == 1
    async with pool.connection() as conn:
        seen = await (await conn.execute("SELECT current_setting('role')")).fetchone()
    assert seen == ("none",)


@pytest.mark.parametrize("written", [True, False])
async def test_a_connection_that_breaks_costs_neither_file_nor_a_second_job(
    client: httpx2.AsyncClient, site: Site, monkeypatch: pytest.MonkeyPatch, *, written: bool
) -> None:
    """Whether the statement was committed or not, nobody was told."""
    broke = False

    @asynccontextmanager
    async def lose(pool: Pool) -> AsyncGenerator[tuple[Connection, dict[str, Any]]]:
        nonlocal broke
        broke = True
        if written:
            async with REAL_STATEMENT(pool) as given:
                yield given
        raise CommitUnknownError("DATABASE_DOWN", "gone", retryAfter=60)

    monkeypatch.setattr("docmill.db.pool.FIRST_WAIT", 0.0)
    monkeypatch.setattr(at_once, "lone_statement", lose)
    answer = await client.post("/api/upload", files=[part(a_pdf("1"))])
    assert broke
    assert (answer.status_code, answer.json()["outcome"]) == (200, "created"), answer.text
    assert await rows(site.services.pool, "jobs") == 1
    (stored,) = site.stored()
    assert stored == answer.json()["job"]["upload_location"]


async def test_a_session_that_is_ended_may_have_written(pool: Pool) -> None:
    with pytest.raises(CommitUnknownError):
        async with REAL_STATEMENT(pool) as (conn, _):
            await conn.execute("SELECT pg_terminate_backend(pg_backend_pid())")


async def test_choices_that_say_nothing_are_not_kept() -> None:
    believed, chosen = BelievedChoices(), replace(NOTHING, profile={"name": "Ann"})
    believed.note(ANN.key, chosen)
    assert believed.find(ANN.key) == chosen
    believed.note(ANN.key, replace(NOTHING))
    assert believed.find(ANN.key) is NOTHING


async def test_workers_are_notified_by_the_statement_that_writes_the_job(
    conn: Connection, pool: Pool
) -> None:
    await listen(conn)
    bell = Notifier(pool, WORK)
    assert bell.take_turn()
    assert not bell.take_turn()
    new = NewUpload(*describe(ANN), None, NOTHING)
    assert isinstance(await add_at_once(pool, new, rings=True), Job)
    assert await hear(conn) == ""
    await bell.close()


async def test_nobody_is_notified_of_a_twin_or_of_what_is_planned_anew(
    conn: Connection, pool: Pool
) -> None:
    document, job = describe(ANN)
    await add_at_once(pool, NewUpload(document, job, None, NOTHING))
    await listen(conn)
    again = NewUpload(document, job, None, NOTHING)
    assert await add_at_once(pool, again, rings=True) is None
    believed = replace(NOTHING, profile={"name": "Ann"})
    assert await add_at_once(pool, replace(again, believed=believed), rings=True) == NOTHING
    await conn.execute("SELECT pg_notify(%s, 'nobody else')", (WORK,))
    assert await hear(conn) == "nobody else"


async def test_who_gives_back_his_turn_keeps_nobody_quiet(conn: Connection, pool: Pool) -> None:
    await listen(conn)
    bell = Notifier(pool, WORK)
    assert bell.take_turn()
    bell.ring()
    bell.give_back()
    assert await hear(conn) == ""
    await bell.close()


async def test_an_upload_wakes_workers_by_itself_and_not_once_more(
    client: httpx2.AsyncClient, conn: Connection, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung: list[str] = []
    monkeypatch.setattr(site.services.work, "ring", lambda: rung.append("work"))
    await listen(conn)
    await upload(client)
    assert await hear(conn) == ""
    assert rung == []
    await client.post("/api/upload", files=[part(a_pdf("1"))], headers={"Idempotency-Key": "1"})
    assert rung == ["work"]


async def listen(conn: Connection) -> None:
    await conn.set_autocommit(True)
    await conn.execute(sql.SQL("LISTEN {}").format(sql.Identifier(WORK)))


async def hear(conn: Connection) -> str:
    heard = [word.payload async for word in conn.notifies(timeout=PATIENCE, stop_after=1)]
    return heard[0]


def describe(owner: Owner) -> tuple[NewDocument, NewJob]:
    document_id = DocumentId(uuid4())
    sha256 = uuid4().hex * 2
    document = NewDocument(
        document_id, sha256, 7, "application/pdf", "a.pdf", "upload", f"uploads/{document_id}", {}
    )
    job = NewJob(JobId(uuid4()), document_id, owner.key, "extract", None, {}, 0, sha256)
    return document, job
