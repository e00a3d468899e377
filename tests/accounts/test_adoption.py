"""What an anonymous session had becomes a user's: every table, in one transaction."""

from typing import Any

import psycopg
import pytest

from accounts.test_keys import RULES, as_user, bearer, make_key
from docmill.accounts import adoption
from docmill.core import owners
from docmill.db.pool import Connection, Pool
from docmill.jobs import queries
from docmill.queue import rows as queue_rows
from road import ANN, add_job, claim_one, the
from sites import Site, Start, a_pdf, complete, part, upload

pytestmark = pytest.mark.anyio

EVE = owners.user("eve").key

OWNED = """
SELECT c.table_name FROM information_schema.columns c JOIN information_schema.tables t
 USING (table_schema, table_name)
 WHERE c.column_name = 'owner' AND c.table_schema = 'public' AND t.table_type = 'BASE TABLE'
"""


async def test_no_table_with_an_owner_is_forgotten(conn: Connection) -> None:
    """A new one is added to what is adopted, or to what is left with a reason."""
    found = {row[0] for row in await (await conn.execute(OWNED)).fetchall()}
    known = {"jobs", "chunk_vectors", *adoption.ADOPTED, *adoption.LEFT}
    assert found == known


FILL = (
    """
    INSERT INTO uploads (id, owner, filename, bytes, wish, key, expires_at)
    VALUES (gen_random_uuid(), %(owner)s, 'a.pdf', 9, '{}', 'direct/a', now())
    """,
    """
    INSERT INTO trades (document_id, job_id, owner, position, direction, confidence_score)
    VALUES (%(document)s, %(job)s, %(owner)s, 0, 'buy', 1)
    """,
    """
    INSERT INTO chunks (job_id, document_id, owner, position, page, heading, text)
    VALUES (%(job)s, %(document)s, %(owner)s, 0, 1, '', 'words')
    """,
    """
    INSERT INTO document_fields (job_id, document_id, owner, position, label, value, kind,
    confidence, page) VALUES (%(job)s, %(document)s, %(owner)s, 0, 'a', 'b', 'text', 1, 1)
    """,
    """
    INSERT INTO reprocesses (id, owner, asked, total)
    VALUES (gen_random_uuid(), %(owner)s, '{}', 0)
    """,
    """
    INSERT INTO lessons (owner, layout, field, lesson, taught_by)
    VALUES (%(owner)s, 'l', 'f', '{}', 'me')
    """,
    """
    INSERT INTO idempotency_keys (owner, key, position, sha256, job_id)
    VALUES (%(owner)s, 'k', 0, 'x', %(job)s)
    """,
    """
    INSERT INTO api_keys (owner, name, hash, hint, scopes)
    VALUES (%(owner)s, 'n', sha256('x'), 'dm_', '{read}')
    """,
    """
    INSERT INTO webhooks (owner, source, url, events, secret)
    VALUES (%(owner)s, %(owner)s, 'https://hooks.example', '{job.complete}', 'whsec_x')
    """,
)


async def test_all_rows_of_a_session_become_the_users(conn: Connection) -> None:
    job_id = await add_job(conn, ANN)
    document = (await the(conn, job_id)).document_id
    given: dict[str, Any] = {"owner": ANN, "job": job_id, "document": document}
    for statement in FILL:
        await conn.execute(statement, given)
    assert await adoption.adopt(conn, EVE, [ANN]) == 1
    for table in ("jobs", *adoption.ADOPTED):
        counted = await conn.execute(
            f"SELECT count(*) FILTER (WHERE owner = %s), count(*) FROM {table}".encode(), (EVE,)
        )
        assert await counted.fetchone() == (1, 1), table
    words = await conn.execute("SELECT words::text FROM chunks")
    assert f"@{EVE}" in str(await words.fetchone())


async def test_what_a_run_found_is_whose_the_job_is_at_its_end(conn: Connection) -> None:
    await add_job(conn, ANN)
    claimed = await claim_one(conn)
    await adoption.adopt(conn, EVE, [ANN])
    trade = '[{"position": 0, "direction": "buy", "confidence_score": 1, "raw_extracted_data": {}}]'
    await queue_rows.write_rows(conn, claimed, {"trades": trade.encode()})
    assert await (await conn.execute("SELECT owner FROM trades")).fetchall() == [(EVE,)]


async def test_the_same_file_of_both_stays_two_jobs_and_finds_the_users_own(
    start: Start,
) -> None:
    async with start(auth_mode="both", tokens=RULES) as site, site.client() as client:
        eve = as_user("eve")
        own = await upload(client, headers=eve)
        guests = await upload(client)
        other = await upload(client, a_pdf("another"))
        answer = await client.post("/api/account/claim", headers=eve)
        assert answer.json() == {"jobs": 2}
        listed = (await client.get("/api/jobs", headers=eve)).json()["jobs"]
        assert {job["id"] for job in listed} == {own, guests, other}
        assert await upload(client, headers=eve) == own
        assert await upload(client, a_pdf("another"), headers=eve) == other


async def test_a_token_takes_over_a_cookie_once_and_nobody_elses(start: Start) -> None:
    async with (
        start(auth_mode="both", tokens=RULES) as site,
        site.client() as guest,
        site.client() as stranger,
    ):
        job_id = await upload(guest)
        key = await make_key(guest)
        await complete(site, job_id)
        assert (await guest.post("/api/account/claim")).status_code == 404  # no user
        answer = await stranger.post("/api/account/claim", headers=as_user("mallory"))
        assert (answer.status_code, answer.json()["code"]) == (404, "SESSION_NOT_FOUND")
        forged = {**as_user("mallory"), "cookie": f"docmill_session={'p' * 43}.{'q' * 43}"}
        assert (await stranger.post("/api/account/claim", headers=forged)).status_code == 404
        answer = await guest.post("/api/account/claim", headers=as_user("ann"))
        assert (answer.json(), "docmill_session" in guest.cookies) == ({"jobs": 1}, False)
        path = f"/api/jobs/{job_id}/download"
        assert (await stranger.get(path, headers=as_user("ann"))).status_code == 200
        assert (await guest.get(path)).status_code == 403
        who = await stranger.get("/api/account", headers=bearer(key["key"]))
        assert who.json()["owner"] == "user:ann"


REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$
"""
REFUSE_DOCUMENTS = """
CREATE TRIGGER refuse BEFORE UPDATE ON documents FOR EACH ROW EXECUTE FUNCTION refuse()
"""


async def test_a_take_over_that_breaks_changes_nothing(site: Site, pool: Pool) -> None:
    async with site.client() as guest:
        await upload(guest)
        owner = owners.OwnerKey((await guest.get("/api/account")).json()["owner"])
        async with pool.connection() as conn:
            await conn.execute(REFUSE)
            await conn.execute(REFUSE_DOCUMENTS)
        with pytest.raises(psycopg.errors.RaiseException, match="no"):
            async with pool.connection() as conn:
                await adoption.adopt(conn, EVE, [owner])
        async with pool.connection() as conn:
            found = await queries.list_recent(conn, owner, queries.JobFilter(), after=None, limit=9)
        assert len(found) == 1
        assert (await guest.post("/api/upload", files=[part()])).json()["outcome"] == "existing"
