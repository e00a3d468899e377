"""Signing in by OpenID: the real protocol over a socket, every check of it, and the session."""

import base64
import json
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from docmill.db.pool import Pool
from docmill.web.config import SignInConfig, TokenConfig
from oidc_double import CLIENT_ID, CLIENT_SECRET, Provider, new_key, provider
from sites import Site, Start, part, rows, upload
from waits import until

pytestmark = pytest.mark.anyio

COOKIE = "docmill_account"


@pytest.fixture
def issuer() -> Generator[Provider]:
    with provider() as known:
        yield known


@asynccontextmanager
async def site_with(start: Start, issuer: Provider, **rules: Any) -> AsyncGenerator[Site]:
    config = SignInConfig(issuer.url, CLIENT_ID, CLIENT_SECRET)
    given: dict[str, Any] = {"auth_mode": "both", "sign_in": config, **rules}
    async with start(**given) as site:
        yield site


async def go_to_provider(client: httpx2.AsyncClient, after: str = "/queue") -> str:
    answer = await client.get("/sign-in", params={"after": after})
    assert answer.status_code == 302, answer.text
    return answer.headers["location"]


async def log_in(address: str, user: str = "ann") -> str:
    """What a person does at the provider; the address they are sent back to."""
    async with httpx2.AsyncClient(trust_env=False) as browser:
        page = await browser.get(address)
        assert page.status_code == 200, page.text
        parts = urlsplit(address)
        form = {name: values[0] for name, values in parse_qs(parts.query).items()}
        answer = await browser.post(
            f"{parts.scheme}://{parts.netloc}/login", data={**form, "user": user}
        )
    return answer.headers["location"]


async def sign_in(client: httpx2.AsyncClient, user: str = "ann") -> httpx2.Response:
    return await client.get(await log_in(await go_to_provider(client), user))


async def me(client: httpx2.AsyncClient) -> dict[str, Any]:
    return (await client.get("/api/account")).json()


async def test_a_person_signs_in_works_with_the_pages_and_signs_out(
    start: Start, issuer: Provider
) -> None:
    async with site_with(start, issuer) as site, site.client() as client:
        answer = await sign_in(client)
        assert (answer.status_code, answer.headers["location"]) == (303, "/queue")
        cookie = next(
            line for line in answer.headers.get_list("set-cookie") if line.startswith(COOKIE)
        )
        assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))
        assert issuer.refusals == []
        who = await me(client)
        assert (who["owner"], who["name"], who["signed_in"]) == ("user:ann", "Ann", True)
        page = (await client.get("/queue")).text
        assert "Sign out" in page
        assert "Ann" in page
        assert (await client.get(f"/api/jobs/{await upload(client)}")).json()["user_id"] == "ann"
        stolen = client.cookies[COOKIE]
        foreign = await client.post("/sign-out", headers={"Origin": "https://evil.test"})
        assert foreign.status_code == 403
        out = await client.post("/sign-out")
        assert out.status_code == 303
        assert "Also sign out at the provider" in (await client.get("/signed-out")).text
        assert (await me(client))["user_id"] is None
    old = {"cookie": f"{COOKIE}={stolen}"}
    async with site_with(start, issuer) as site, site.client(headers=old) as thief:
        assert (await me(thief))["user_id"] is None


async def test_claims_of_the_provider_grant_what_tokens_grant(
    start: Start, issuer: Provider
) -> None:
    issuer.bend = {"premium": True, "desks": ["trading"], "admin": True}
    tokens = TokenConfig(admin_users=("eve",))
    async with site_with(start, issuer, tokens=tokens) as site, site.client() as client:
        await sign_in(client)
        who = await me(client)
        assert (who["premium"], who["desks"], who["admin"]) == (True, ["trading"], True)
        issuer.bend = {"premium": "yes", "admin": "true"}
        await sign_in(client, "bob")
        who = await me(client)
        assert (who["owner"], who["premium"], who["admin"]) == ("user:bob", False, False)
        await sign_in(client, "eve")
        assert (await me(client))["admin"] is True


BENT: dict[str, dict[str, Any]] = {
    "other nonce": {"bend": {"nonce": "other"}},
    "no nonce": {"bend": {"nonce": None}},
    "other audience": {"bend": {"aud": "another"}},
    "no audience": {"bend": {"aud": None}},
    "other issuer": {"bend": {"iss": "https://evil.test"}},
    "expired": {"bend": {"exp": 1}},
    "no expiry": {"bend": {"exp": None}},
    "no subject": {"bend": {"sub": None}},
    "empty subject": {"bend": {"sub": ""}},
    "subject of odd kind": {"bend": {"sub": "a\0b"}},
    "signed by another": {"sign": {"key": new_key()}},
    "unknown key": {"sign": {"kid": "nobody's"}},
    "signed with our secret": {"sign": {"key": CLIENT_SECRET.ljust(32), "alg": "HS256"}},
    "unsigned": {"sign": {"key": None, "alg": "none"}},
}


@pytest.mark.parametrize("bent", BENT)
async def test_an_id_token_that_is_not_right_signs_nobody_in(
    start: Start, issuer: Provider, pool: Pool, bent: str
) -> None:
    for name, value in BENT[bent].items():
        setattr(issuer, name, value)
    async with site_with(start, issuer) as site, site.client() as client:
        answer = await sign_in(client)
        assert answer.status_code in {400, 401}, answer.text
        assert COOKIE not in client.cookies
    assert await rows(pool, "sessions") == 0


async def test_a_callback_that_was_not_begun_in_this_browser_is_refused(
    start: Start, issuer: Provider, pool: Pool
) -> None:
    async with site_with(start, issuer) as site, site.client() as attacker, site.client() as victim:
        lure = await log_in(await go_to_provider(attacker), "mallory")
        assert (await victim.get(lure)).status_code == 400
        await go_to_provider(victim)
        assert (await victim.get(lure)).status_code == 400  # a flow, but another state
        assert await rows(pool, "sessions") == 0
        good = await log_in(await go_to_provider(victim))
        assert (await victim.get(good)).status_code == 303
        assert (await victim.get(good)).status_code == 400  # a code is good once
        for query in ("", "?state=x", "?code=x&state=y", "?error=access_denied&state=z"):
            assert (await victim.get(f"/sign-in/callback{query}")).status_code == 400


async def test_a_kept_flow_that_was_changed_or_is_old_is_refused(
    start: Start, issuer: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with site_with(start, issuer) as site, site.client() as client:
        back = await log_in(await go_to_provider(client))
        body, _, proof = client.cookies["docmill_sign_in"].strip('"').partition(".")
        kept = json.loads(base64.urlsafe_b64decode(body + "=="))
        forged = base64.urlsafe_b64encode(json.dumps({**kept, "after": "/x"}).encode()).decode()
        for cookie in (f"{forged.rstrip('=')}.{proof}", body, f"{body}.x", ".", "é"):
            headers = [(b"cookie", b"docmill_sign_in=" + cookie.encode())]
            async with site.client() as other:
                assert (await other.get(back, headers=headers)).status_code == 400
        later = time.time() + 3600
        monkeypatch.setattr("docmill.accounts.oidc.time.time", lambda: later)
        assert (await client.get(back)).status_code == 400


@pytest.mark.parametrize(
    "after",
    ["https://evil.test", "//evil.test", "/\\evil.test", "evil", "/a\\b", "javascript:alert(1)"],
)
async def test_nobody_is_sent_to_another_site_afterwards(
    start: Start, issuer: Provider, after: str
) -> None:
    async with site_with(start, issuer) as site, site.client() as client:
        answer = await client.get(await log_in(await go_to_provider(client, after)))
        assert answer.headers["location"] == "/queue"
        answer = await client.get(await log_in(await go_to_provider(client, "/trades?isin=1")))
        assert answer.headers["location"] == "/trades?isin=1"


async def test_without_guests_a_page_leads_to_the_provider_and_the_api_says_401(
    start: Start, issuer: Provider
) -> None:
    async with site_with(start, issuer, auth_mode="jwt") as site, site.client() as client:
        page = await client.get("/trades?q=1", headers={"accept": "text/html"})
        assert (page.status_code, page.headers["location"]) == (
            303,
            "/sign-in?after=%2Ftrades%3Fq%3D1",
        )
        answer = await client.get("/api/jobs")
        assert (answer.status_code, answer.json()["token"]) == (401, "missing")
        refused = await client.post("/api/upload", files=[part()])
        assert refused.status_code == 401
        await sign_in(client)
        assert (await client.get("/trades", headers={"accept": "text/html"})).status_code == 200
        foreign = await client.post(
            "/api/upload", files=[part()], headers={"Sec-Fetch-Site": "cross-site"}
        )
        assert foreign.status_code == 403
        await upload(client)
        async with site.client(headers={"cookie": f"{COOKIE}={'x' * 43}"}) as stranger:
            answer = await stranger.get("/api/jobs")
            assert (answer.status_code, answer.json()["token"]) == (401, "expired")


async def test_a_provider_that_is_away_or_another_is_told_as_such(
    start: Start, issuer: Provider
) -> None:
    away = SignInConfig("http://127.0.0.1:1", CLIENT_ID)
    async with start(auth_mode="both", sign_in=away) as site, site.client() as client:
        answer = await client.get("/sign-in")
        assert (answer.status_code, answer.json()["code"]) == (503, "SIGN_IN_UNREACHABLE")
        assert (await client.get("/queue")).status_code == 200
        assert (await client.get("/signed-out")).status_code == 200
    issuer.metadata = {"issuer": "https://other.test"}
    async with site_with(start, issuer) as site, site.client() as client:
        assert (await client.get("/sign-in")).json()["code"] == "SIGN_IN_FAILED"
        issuer.metadata = {}
        assert (await client.get("/sign-in")).status_code == 302
    async with start() as site, site.client() as client:
        assert (await client.get("/sign-in")).json()["code"] == "SERVICE_UNSET"


async def test_a_provider_that_rotates_its_keys_is_followed(start: Start, issuer: Provider) -> None:
    async with site_with(start, issuer) as site, site.client() as client:
        assert (await sign_in(client)).status_code == 303
        issuer.key, issuer.kid = new_key(), "second"
        assert (await sign_in(client)).status_code == 303


async def test_signing_in_takes_over_what_the_browser_did_before(
    start: Start, issuer: Provider
) -> None:
    async with site_with(start, issuer) as site, site.client() as client:
        job_id = await upload(client)
        await client.patch("/api/settings", json={"tin": "01.234.567.8-901.000"})
        guest = client.cookies["docmill_session"]
        assert (await sign_in(client)).status_code == 303
        job = (await client.get(f"/api/jobs/{job_id}")).json()
        assert (job["user_id"], job["owner_session_id"]) == ("ann", None)
        assert (await client.get("/api/settings")).json()["tin"] == "01.234.567.8-901.000"
        assert "docmill_session" not in client.cookies
        again = await client.post("/api/upload", files=[part()])
        assert (again.json()["jobId"], again.json()["outcome"]) == (job_id, "existing")
        async with site.client(headers={"cookie": f"docmill_session={guest}"}) as old:
            assert (await old.get(f"/api/jobs/{job_id}")).status_code == 403
            assert (await old.get("/api/jobs")).json()["jobs"] == []


async def test_a_session_ends_by_time_and_by_the_operator(
    start: Start, issuer: Provider, pool: Pool
) -> None:
    async with site_with(start, issuer) as site, site.client() as client:
        await sign_in(client)
        async with pool.connection() as conn:
            await conn.execute("UPDATE sessions SET expires_at = now()")

        async def is_out() -> bool:
            return (await me(client))["user_id"] is None

        await until(is_out)
        issuer.bend = {"admin": True}
        await sign_in(client, "root")
        async with site.client() as ann:
            issuer.bend = {}
            await sign_in(ann)
            listed = (await client.get("/api/sessions")).json()["sessions"]
            theirs = next(one for one in listed if one["owner"] == "user:ann")
            assert (await ann.get("/api/sessions")).json()["code"] == "ADMIN_ONLY"
            answer = await ann.delete(f"/api/sessions/{theirs['id']}")
            assert answer.json()["code"] == "ADMIN_ONLY"
            answer = await client.delete(f"/api/sessions/{theirs['id']}")
            assert answer.json() == {"ended": 1}
            assert (await me(ann))["user_id"] is None
            answer = await client.delete(f"/api/sessions/{theirs['id']}")
            assert answer.json()["code"] == "SESSION_NOT_FOUND"
