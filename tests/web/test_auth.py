"""Who may come in: sessions, tokens, and pages of ours only."""

import asyncio
import base64
import hmac
import json
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from structlog.testing import capture_logs

from docmill.core import owners
from docmill.db.pool import Pool
from docmill.queue import enqueue as db_owners
from docmill.web.config import TokenConfig
from sites import Site, part, upload

pytestmark = pytest.mark.anyio

Start = Callable[..., AbstractAsyncContextManager[Site]]
SECRET = "s" * 32
RULES = TokenConfig(secret=SECRET, audience="docmill", issuer="https://issuer.test")
NOW = int(time.time())
GOOD: dict[str, Any] = {
    "sub": "ann", "exp": NOW + 86_400, "aud": "docmill", "iss": "https://issuer.test",
}  # fmt: skip


def token(key: Any = SECRET, algorithm: str = "HS256", **claims: Any) -> str:
    given = {name: value for name, value in (GOOD | claims).items() if value is not None}
    return jwt.encode(given, key, algorithm=algorithm)


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def unsigned() -> str:
    head = packed(json.dumps({"alg": "none", "typ": "JWT"}))
    return f"{head}.{packed(json.dumps(GOOD))}."


def bad_tokens() -> dict[str, dict[str, str]]:
    good = token()
    head, body, signature = good.split(".")
    rsa_key = rsa.generate_private_key(65537, 2048)
    return {
        "nothing": {},
        "empty": {"Authorization": "Bearer"},
        "no scheme": {"Authorization": good},
        "basic": {"Authorization": "Basic YTpi"},
        "garbage": bearer("garbage"),
        "two parts": bearer(f"{head}.{body}"),
        "no signature": bearer(f"{head}.{body}."),
        "cut signature": bearer(good[:-4]),
        "changed body": bearer(f"{head}.{body[:-2]}AA.{signature}"),
        "changed head": bearer(f"e30.{body}.{signature}"),
        "alg none": bearer(unsigned()),
        "other secret": bearer(token("x" * 32)),
        "short secret": bearer(jwt.encode(GOOD, "k" * 48, algorithm="HS384")),
        "hs512": bearer(token(SECRET * 2, "HS512")),
        "rs256 without keys": bearer(token(rsa_key, "RS256")),
        "expired": bearer(token(exp=NOW - 1)),
        "no exp": bearer(token(exp=None)),
        "exp not a number": bearer(token(exp="tomorrow")),
        "not yet": bearer(token(nbf=NOW + 86_400)),
        "issued in the future": bearer(token(iat=NOW + 86_400)),
        "no sub": bearer(token(sub=None)),
        "empty sub": bearer(token(sub="")),
        "sub a number": bearer(token(sub=17)),
        "sub with NUL": bearer(token(sub="a\0b")),
        "long sub": bearer(token(sub="a" * 256)),
        "other audience": bearer(token(aud="other")),
        "no audience": bearer(token(aud=None)),
        "other issuer": bearer(token(iss="https://evil.test")),
        "very long": bearer(token(junk="x" * 9000)),
    }


async def test_no_bad_token_is_let_in(start: Start) -> None:
    async with start(auth_mode="jwt", tokens=RULES) as site, site.client() as client:
        for name, headers in bad_tokens().items():
            answer = await client.post("/api/upload", files=[part()], headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHORIZED"), name
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert "set-cookie" not in answer.headers
        assert site.stored() == []


async def test_a_refusal_says_whether_a_token_is_missing_wrong_or_expired(start: Start) -> None:
    sent = {
        "missing": {},
        "wrong": bearer(token("x" * 32)),
        "expired": bearer(token(exp=NOW - 1)),
    }
    said: set[str] = set()
    async with start(auth_mode="jwt", tokens=RULES) as site, site.client() as client:
        for state, headers in sent.items():
            answer = await client.get("/api/jobs", headers=headers)
            assert (answer.status_code, answer.json()["token"]) == (401, state)
            said.add(answer.json()["error"])
            challenge = answer.headers["www-authenticate"]
            assert ("invalid_token" in challenge) == (state != "missing")
            assert answer.json()["error"] in challenge or state == "missing"
    assert len(said) == 3


async def test_a_published_key_is_no_secret_to_sign_with(start: Start) -> None:
    """The old attack: HS256 with the text of the public key, on a site that has no secret."""
    key = rsa.generate_private_key(65537, 2048)
    jwk: dict[str, Any] = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    body = packed(json.dumps(GOOD))
    async with key_server([{**jwk, "kid": "r"}]) as url:
        rules = TokenConfig(jwks_url=url)
        async with start(auth_mode="jwt", tokens=rules) as site, site.client() as client:
            for secret in (pem, pem.strip(), json.dumps(jwk).encode()):
                head = packed(json.dumps({"alg": "HS256", "kid": "r"}))
                digest = hmac.digest(secret, f"{head}.{body}".encode(), "sha256")
                proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
                answer = await client.get("/api/jobs", headers=bearer(f"{head}.{body}.{proof}"))
                assert answer.status_code == 401
            good = jwt.encode(GOOD, key, algorithm="RS256", headers={"kid": "r"})
            assert (await client.get("/api/jobs", headers=bearer(good))).status_code == 200


async def test_each_attempt_is_one_line_in_the_log_and_tells_no_secret(start: Start) -> None:
    good, bad = token(), token("x" * 32)
    with capture_logs() as lines:
        async with start(auth_mode="both", tokens=RULES) as site, site.client() as client:
            for text in (good, bad, "dm_" + "k" * 43):
                await client.get("/api/jobs", headers=bearer(text))
            await client.get("/api/jobs")
    told = [line for line in lines if line["event"].startswith("auth.")]
    assert [(line["event"], line["way"]) for line in told] == [
        ("auth.accepted", "token"),
        ("auth.refused", "token"),
        ("auth.refused", "key"),
    ]
    assert told[0]["owner"] == "user:ann"
    written = json.dumps(lines, default=str)
    assert not [text for text in (good, bad, "kkkk", SECRET) if text in written]


async def test_a_key_counts_before_a_cookie_that_is_known(start: Start) -> None:
    async with start() as site, site.client() as client:
        job_id = await upload(client)
        address = f"/api/job-status/{job_id}"
        assert (await client.get(address)).status_code == 200
        unknown = bearer("dm_" + "k" * 43)
        assert (await client.get(address, headers=unknown)).status_code == 401


async def test_only_premium_owners_raise_their_priority(start: Start) -> None:
    async with start(auth_mode="jwt", tokens=RULES) as site, site.client() as client:
        for premium, given in ((False, 0), (True, 7)):
            answer = await client.post(
                "/api/upload",
                files=[part()],
                data={"priority": "7"},
                headers=bearer(token(sub=f"p{given}", premium=premium)),
            )
            assert answer.json()["job"]["priority"] == given


async def test_a_token_names_the_owner_and_may_make_him_premium(start: Start) -> None:
    async with start(auth_mode="jwt", tokens=RULES) as site, site.client() as client:
        ann, bob = bearer(token()), bearer(token(sub="bob", premium=True))
        job_id = await upload(client, headers=ann)
        job = (await client.get(f"/api/jobs/{job_id}", headers=ann)).json()
        assert (job["user_id"], job["owner_session_id"], job["priority"]) == ("ann", None, 0)
        assert (await client.get(f"/api/jobs/{job_id}", headers=bob)).status_code == 403
        premium = await client.post("/api/upload", files=[part()], headers=bob)
        assert premium.json()["job"]["priority"] == 10
        fake = bearer(token(sub="eve", premium="yes"))
        standard = await client.post("/api/upload", files=[part()], headers=fake)
        assert standard.json()["job"]["priority"] == 0


async def test_both_takes_a_token_if_sent_else_the_cookie(start: Start) -> None:
    async with start(auth_mode="both", tokens=RULES) as site, site.client() as client:
        anonymous = await upload(client)
        known = await upload(client, headers=bearer(token()))
        assert anonymous != known
        assert (await client.get(f"/api/jobs/{known}")).status_code == 403
        assert (await client.get(f"/api/jobs/{anonymous}")).status_code == 200
        answer = await client.get("/api/jobs", headers=bearer("garbage"))
        assert answer.status_code == 401


@asynccontextmanager
async def key_server(keys: list[dict[str, Any]]) -> AsyncGenerator[str]:
    body = json.dumps({"keys": keys}).encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/keys"


async def test_tokens_are_checked_with_the_issuers_published_keys(start: Start) -> None:
    first, second = rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP256R1())
    rsa_jwk: dict[str, Any] = RSAAlgorithm.to_jwk(first.public_key(), as_dict=True)
    ec_jwk: dict[str, Any] = ECAlgorithm.to_jwk(second.public_key(), as_dict=True)
    keys = [{**rsa_jwk, "kid": "r", "use": "sig"}, {**ec_jwk, "kid": "e", "use": "sig"}]

    def signed(key: Any, algorithm: str, kid: str) -> dict[str, str]:
        return bearer(jwt.encode(GOOD, key, algorithm=algorithm, headers={"kid": kid}))

    async with key_server(keys) as url:
        rules = TokenConfig(jwks_url=url)
        async with start(auth_mode="jwt", tokens=rules) as site, site.client() as client:
            for headers in (signed(first, "RS256", "r"), signed(second, "ES256", "e")):
                assert (await client.get("/api/jobs", headers=headers)).status_code == 200
            stranger = rsa.generate_private_key(65537, 2048)
            for headers in (signed(stranger, "RS256", "r"), signed(stranger, "RS256", "no")):
                assert (await client.get("/api/jobs", headers=headers)).status_code == 401
            assert (await client.get("/api/jobs", headers=bearer(token()))).status_code == 401
    away = TokenConfig(jwks_url="http://127.0.0.1:1/keys")
    async with start(auth_mode="jwt", tokens=away) as site, site.client() as client:
        answer = await client.get("/api/jobs", headers=signed(first, "RS256", "r"))
        assert (answer.status_code, answer.json()["code"]) == (503, "KEYS_UNREACHABLE")


async def test_a_session_is_a_random_cookie_scripts_cannot_read(site: Site) -> None:
    cookies: set[str] = set()
    for _ in range(2):
        async with site.client() as client:
            answer = await client.get("/api/jobs")
            cookie, *attributes = answer.headers["set-cookie"].split("; ")
            cookies.add(cookie)
            assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(attributes)
            assert "Secure" not in attributes
            assert "set-cookie" not in (await client.get("/api/jobs")).headers
    assert len(cookies) == 2
    assert all(len(cookie) == len("docmill_session=") + 43 + 1 + 43 for cookie in cookies)


async def test_a_cookie_that_is_none_of_ours_counts_as_none(start: Start) -> None:
    planted = "p" * 43
    async with start(secure_cookies=True) as site, site.client() as client:
        odd = ("", "short", "x" * 5000, "é" * 43, "a b" * 15, '"quoted"')
        for cookie in (*odd, planted, f"{planted}.", f"{planted}.{planted}"):
            for name in (b"docmill_session=", b"__Host-docmill_session="):
                answer = await client.get(
                    "/api/jobs", headers=[(b"cookie", name + cookie.encode())]
                )
                assert answer.status_code == 200
                line = answer.headers["set-cookie"]
                assert line.startswith("__Host-docmill_session="), cookie
                assert planted not in line
                assert {"Secure", "Path=/", "HttpOnly"} <= set(line.split("; "))
                assert "domain" not in line.lower()


async def test_a_session_of_the_first_version_keeps_its_jobs_and_gets_a_proof(
    start: Start, pool: Pool
) -> None:
    old = "o" * 43
    async with pool.connection() as conn:
        await db_owners.ensure_owner(conn, owners.session(old).key)
    async with start() as site, site.client(headers={"cookie": f"docmill_session={old}"}) as client:
        answer = await client.post("/api/upload", files=[part()])
        assert answer.json()["job"]["owner_session_id"] == owners.session(old).session_id
        cookie = answer.headers["set-cookie"].partition(";")[0]
        assert cookie.startswith(f"docmill_session={old}.")
    async with start() as site, site.client(headers={"cookie": cookie}) as client:
        assert len((await client.get("/api/jobs")).json()["jobs"]) == 1


def signed(**claims: Any) -> str:
    """As `token`, for claims that PyJWT itself would not sign."""
    return jwt.PyJWS().encode(json.dumps(GOOD | claims).encode(), SECRET, algorithm="HS256")


def odd_claims() -> dict[str, Any]:
    deep = "[" * 3000 + "]" * 3000
    return {
        "desks a number": bearer(signed(desks=5)),
        "desks an object": bearer(signed(desks={"trading": True})),
        "desks of odd things": bearer(signed(desks=[5, None, ["x"], "a\0b", "\ud800", "x" * 300])),
        "desks with NUL": bearer(signed(desks="a\0b")),
        "premium a list": bearer(signed(premium=[])),
        "sub a list": bearer(signed(sub=["ann"])),
        "sub half a character": bearer(signed(sub="\ud800")),
        "exp a list": bearer(signed(exp=[])),
        "exp an object": bearer(signed(exp={})),
        "exp infinite": bearer(signed(exp=float("inf"))),
        "nbf a list": bearer(signed(nbf=[])),
        "iat not a number": bearer(signed(iat=float("nan"))),
        "aud an object": bearer(signed(aud={})),
        "iss a list": bearer(signed(iss=[])),
        "jti a number": bearer(signed(jti=5)),
        "deep head": bearer(f"{packed(deep)}.{packed('{}')}.x"),
        "head a list": bearer(f"{packed('[]')}.{packed('{}')}.x"),
        "kid a number": bearer(f"{packed(json.dumps({'alg': 'HS256', 'kid': 5}))}.e30.x"),
    }


def packed(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


async def test_claims_of_odd_types_are_ignored_or_refused_and_break_nothing(start: Start) -> None:
    async with start(auth_mode="jwt", tokens=RULES) as site, site.client() as client:
        for name, headers in odd_claims().items():
            for path in ("/api/trades", "/api/bucket", "/trades"):
                answer = await client.get(path, headers=headers)
                assert answer.status_code in {200, 401, 403}, (name, path)


async def test_other_sites_cannot_make_a_browser_act(
    client: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await upload(client)
    foreign = [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.test"},
        {"Origin": "null"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "null", "Sec-Fetch-Site": "same-site"},
        {"Origin": "null", "Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.test", "Sec-Fetch-Site": "same-origin"},
        {"Origin": f"http://127.0.0.1:{site.port + 1}"},
        {"Origin": "http://["},
    ]
    document = (await client.get("/openapi.json")).json()
    unsafe = [
        (method.upper(), path.replace("{job_id}", job_id))
        for path, operations in document["paths"].items()
        for method in operations
        if method in {"post", "put", "patch", "delete"}
        and not path.endswith("/content")  # signed: its address is the permission, no cookie
    ]
    assert len(unsafe) >= 5
    for method, path in unsafe:
        for headers in foreign:
            answer = await client.request(method, path, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (403, "CROSS_SITE"), (
                path,
                headers,
            )
            assert "set-cookie" not in answer.headers
    ours = {"Origin": site.url, "Sec-Fetch-Site": "same-origin"}
    assert (await client.post(f"/api/jobs/{job_id}/cancel", headers=ours)).status_code == 200


async def test_a_form_of_ours_is_taken_though_its_browser_tells_no_origin(
    client: httpx2.AsyncClient,
) -> None:
    job_id = await upload(client)
    ours = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}
    assert (await client.post(f"/api/jobs/{job_id}/cancel", headers=ours)).status_code == 200
