"""Who may come in: sessions, tokens, and pages of ours only."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from docmill.web.rules import TokenRules
from sites import Site, part, upload

pytestmark = pytest.mark.anyio

Start = Callable[..., AbstractAsyncContextManager[Site]]
SECRET = "s" * 32
RULES = TokenRules(secret=SECRET, audience="docmill", issuer="https://issuer.test")
NOW = int(time.time())
GOOD: dict[str, Any] = {
    "sub": "ann", "exp": NOW + 3600, "aud": "docmill", "iss": "https://issuer.test",
}  # fmt: skip


def token(key: Any = SECRET, algorithm: str = "HS256", **claims: Any) -> str:
    given = {name: value for name, value in (GOOD | claims).items() if value is not None}
    return jwt.encode(given, key, algorithm=algorithm)


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def unsigned() -> str:
    def packed(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{packed({'alg': 'none', 'typ': 'JWT'})}.{packed(GOOD)}."


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
        rules = TokenRules(jwks_url=url)
        async with start(auth_mode="jwt", tokens=rules) as site, site.client() as client:
            for headers in (signed(first, "RS256", "r"), signed(second, "ES256", "e")):
                assert (await client.get("/api/jobs", headers=headers)).status_code == 200
            stranger = rsa.generate_private_key(65537, 2048)
            for headers in (signed(stranger, "RS256", "r"), signed(stranger, "RS256", "no")):
                assert (await client.get("/api/jobs", headers=headers)).status_code == 401
            assert (await client.get("/api/jobs", headers=bearer(token()))).status_code == 401
    away = TokenRules(jwks_url="http://127.0.0.1:1/keys")
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
    assert all(len(cookie) == len("docmill_session=") + 43 for cookie in cookies)


async def test_a_cookie_that_is_none_of_ours_counts_as_none(start: Start) -> None:
    async with start(secure_cookies=True) as site, site.client() as client:
        for cookie in ("", "short", "x" * 5000, "é" * 43, "a b" * 15, '"quoted"'):
            headers = [(b"cookie", b"docmill_session=" + cookie.encode())]
            answer = await client.get("/api/jobs", headers=headers)
            assert answer.status_code == 200
            assert "; Secure" in answer.headers["set-cookie"], cookie


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
