"""Keys for programs: shown once, hashed, scoped, expiring, in every mode."""

import time
from collections.abc import Mapping
from typing import Any

import httpx2
import jwt
import pytest

from docmill.accounts.keys import MOST_KEYS
from docmill.db.pool import Pool
from docmill.web.config import TokenConfig
from sites import Site, Start, part, upload
from terminal import Served, Terminal
from waits import PATIENCE, until

pytestmark = pytest.mark.anyio

SECRET = "s" * 32
RULES = TokenConfig(secret=SECRET)


def as_user(subject: str, **claims: Any) -> dict[str, str]:
    given = {"sub": subject, "exp": int(time.time()) + 3600, **claims}
    return bearer(jwt.encode(given, SECRET, algorithm="HS256"))


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


async def make_key(
    client: httpx2.AsyncClient, headers: Mapping[str, str] | None = None, **wish: Any
) -> dict[str, Any]:
    answer = await client.post("/api/keys", json={"name": "script", **wish}, headers=headers or {})
    assert answer.status_code == 201, answer.text
    return answer.json()


@pytest.mark.parametrize("mode", ["local", "session", "jwt", "both"])
async def test_a_key_is_its_maker_in_every_mode(start: Start, mode: str) -> None:
    async with start(auth_mode=mode, tokens=RULES) as site:
        headers = as_user("ann") if mode in {"jwt", "both"} else {}
        async with site.client(headers=headers) as person, site.client() as program:
            job_id = await upload(person)
            key = bearer((await make_key(person))["key"])
            who = (await person.get("/api/account")).json()["owner"]
            assert (await program.get("/api/account", headers=key)).json()["owner"] == who
            assert (await program.get(f"/api/jobs/{job_id}", headers=key)).status_code == 200
            answer = await program.post(f"/api/jobs/{job_id}/cancel", headers=key)
            assert (answer.status_code, "set-cookie" in answer.headers) == (200, False)


SCOPES = {"read": {"GET"}, "write": {"POST"}, "admin": {"KEYS"}}


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_key_does_what_its_scopes_say_and_nothing_else(start: Start, scope: str) -> None:
    async with start() as site, site.client() as person, site.client() as program:
        job_id = await upload(person)
        scopes = [scope] if scope != "admin" else ["read", "write", "admin"]
        key = bearer((await make_key(person, scopes=scopes))["key"])
        asked = {
            "read": await program.get("/api/jobs", headers=key),
            "write": await program.post(f"/api/jobs/{job_id}/cancel", headers=key),
            "admin": await program.post("/api/keys", json={"name": "more"}, headers=key),
        }
        for name, answer in asked.items():
            if name in scopes:
                assert answer.status_code < 300, (name, answer.text)
            else:
                assert (answer.status_code, answer.json()["code"]) == (403, "SCOPE_MISSING")
                assert answer.json()["scope"] in {name, "write"}


async def test_a_key_for_changes_makes_and_revokes_no_keys(site: Site) -> None:
    async with site.client() as person, site.client() as program:
        made = await make_key(person, scopes=["read", "write"])
        key = bearer(made["key"])
        listed = (await program.get("/api/keys", headers=key)).json()["keys"]
        assert [one["id"] for one in listed] == [made["id"]]
        for answer in (
            await program.post("/api/keys", json={"name": "x"}, headers=key),
            await program.delete(f"/api/keys/{made['id']}", headers=key),
            await program.post("/settings/keys", data={"name": "x"}, headers=key),
        ):
            assert (answer.status_code, answer.json()["scope"]) == (403, "admin")


async def test_only_a_hash_is_kept_and_the_key_is_shown_once(site: Site, pool: Pool) -> None:
    async with site.client() as person:
        made = await make_key(person)
        key = made["key"]
        assert key.startswith("dm_")
        assert len(key) == 46
        listed = (await person.get("/api/keys")).json()["keys"]
        assert "key" not in listed[0]
        assert listed[0]["hint"] == key[:7]
        assert key not in (await person.get("/settings")).text
    async with pool.connection() as conn:
        found = await (await conn.execute("SELECT api_keys::text FROM api_keys")).fetchall()
    assert key[10:] not in str(found)


async def test_a_key_is_used_revoked_and_expires(site: Site, pool: Pool) -> None:
    async with site.client() as person, site.client() as program:
        first, second = [await make_key(person, expires_days=1) for _ in range(2)]
        for each in (first, second):
            answer = await program.get("/api/jobs", headers=bearer(each["key"]))
            assert answer.status_code == 200
        listed = (await person.get("/api/keys")).json()["keys"]
        assert all(one["last_used_at"] for one in listed)
        assert (await person.delete(f"/api/keys/{first['id']}")).status_code == 204
        answer = await program.get("/api/jobs", headers=bearer(first["key"]))
        assert (answer.status_code, answer.json()["token"]) == (401, "wrong")
        assert (await person.delete(f"/api/keys/{first['id']}")).status_code == 404
        async with pool.connection() as conn:
            await conn.execute("UPDATE api_keys SET expires_at = now()")

        async def has_expired() -> bool:
            answer = await program.get("/api/jobs", headers=bearer(second["key"]))
            return answer.status_code == 401 and answer.json()["token"] == "expired"

        await until(has_expired)
        for odd in ("dm_", "dm_x", "dm_" + "x" * 43, "dm_" + "é" * 43, "dm_" + "x" * 9000):
            headers = [(b"authorization", b"Bearer " + odd.encode())]
            answer = await program.get("/api/jobs", headers=headers)
            assert answer.status_code == 401, odd


async def test_nobody_lists_or_revokes_anothers_keys(site: Site) -> None:
    async with site.client() as ann, site.client() as bob:
        made = await make_key(ann)
        assert (await bob.get("/api/keys")).json() == {"keys": []}
        for key_id in (made["id"], "nonsense", "a%00b"):
            answer = await bob.delete(f"/api/keys/{key_id}")
            assert answer.status_code in {400, 404}
        assert len((await ann.get("/api/keys")).json()["keys"]) == 1


async def test_an_owner_has_so_many_keys_at_most(site: Site, pool: Pool) -> None:
    async with site.client() as person:
        await make_key(person)
        async with pool.connection() as conn:
            await conn.execute(
                "INSERT INTO api_keys (owner, name, hash, hint, scopes) SELECT owner, name, "
                "sha256(n::text::bytea), hint, scopes FROM api_keys, generate_series(2, %s) n",
                (MOST_KEYS,),
            )
        answer = await person.post("/api/keys", json={"name": "one more"})
        assert (answer.status_code, answer.json()["code"]) == (409, "TOO_MANY_KEYS")


async def test_a_key_keeps_what_its_maker_was_granted_and_no_admin_without_its_scope(
    start: Start,
) -> None:
    async with start(auth_mode="jwt", tokens=RULES) as site, site.client() as client:
        root = as_user("root", admin=True, premium=True, desks=["fx"])
        assert (await client.get("/api/sessions", headers=root)).status_code == 200
        plain = bearer((await make_key(client, root))["key"])
        full = bearer((await make_key(client, root, scopes=["read", "admin"]))["key"])
        answer = await client.get("/api/sessions", headers=plain)
        assert (answer.status_code, answer.json()["scope"]) == (403, "admin")
        assert (await client.get("/api/sessions", headers=full)).status_code == 200
        who = (await client.get("/api/account", headers=plain)).json()
        assert (who["admin"], who["premium"], who["desks"]) == (False, True, ["fx"])
        sent = await client.post("/api/upload", files=[part()], headers=plain)
        assert sent.json()["job"]["priority"] == 10
        mine = bearer((await make_key(client, as_user("ann"), scopes=["read", "admin"]))["key"])
        answer = await client.get("/api/sessions", headers=mine)
        assert answer.json()["code"] == "ADMIN_ONLY"


async def test_keys_are_made_and_revoked_on_the_settings_page(site: Site) -> None:
    async with site.client() as person, site.client() as program:
        form = {"name": "<b>night</b>", "scope": ["read"], "days": "30"}
        page = await person.post("/settings/keys", data=form)
        assert page.status_code == 200
        key = page.text.partition('value="dm_')[2].partition('"')[0]
        assert (await program.get("/api/jobs", headers=bearer(f"dm_{key}"))).status_code == 200
        shown = (await person.get("/settings")).text
        assert "&lt;b&gt;night" in shown
        assert key not in shown
        key_id = (await person.get("/api/keys")).json()["keys"][0]["id"]
        done = await person.post("/settings/keys/revoke", data={"id": key_id})
        assert done.status_code == 303
        assert (await program.get("/api/jobs", headers=bearer(f"dm_{key}"))).status_code == 401


def test_the_command_makes_lists_and_revokes_keys(desk: Terminal, served: Served) -> None:
    made = desk.run("keys", "create", "night", "--scope", "read", "--days", "9", "--json")
    assert made.code == 0, made.err
    key = made.json["key"]
    asked = httpx2.get(f"{served.url}/api/account", headers=bearer(key), timeout=PATIENCE)
    assert asked.json()["scopes"] == ["read"]
    listed = desk.run("keys", "list", "--json").json
    assert [(one["name"], one["scopes"]) for one in listed] == [("night", ["read"])]
    heads, row = desk.run("keys", "list").out.splitlines()
    assert heads.split() == ["ID", "KEY", "SCOPES", "LAST", "USED", "EXPIRES", "NAME"]
    assert row.startswith(listed[0]["id"])
    assert row.rstrip().endswith("night")
    program = desk.with_(DOCMILL_TOKEN=key)
    assert program.run("jobs").code == 0
    refused = program.run("keys", "create", "more")
    assert refused.code == 1
    assert "may not do that" in refused.err
    assert desk.run("keys", "revoke", made.json["id"]).code == 0
    assert desk.run("keys", "revoke", made.json["id"]).code == 1
    plain = desk.run("keys", "create", "day")
    assert plain.out.strip().startswith("dm_")
