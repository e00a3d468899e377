"""The issuer's keys: cached, rotated, and good while the issuer is away."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from docmill.core.faults import DocmillError
from docmill.web.issuer_keys import PAUSE_SECONDS, REFRESH_SECONDS, IssuerKeys, UnknownKeyError

pytestmark = pytest.mark.anyio

RSA_KEY = rsa.generate_private_key(65537, 2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def rsa_jwk(kid: str, **more: Any) -> dict[str, Any]:
    known: dict[str, Any] = RSAAlgorithm.to_jwk(RSA_KEY.public_key(), as_dict=True)
    return {**known, "kid": kid, **more}


def ec_jwk(kid: str) -> dict[str, Any]:
    return {**ECAlgorithm.to_jwk(EC_KEY.public_key(), as_dict=True), "kid": kid}


class Issuer:
    """Publishes keys on a socket, and counts how often it is asked."""

    def __init__(self) -> None:
        self.body: bytes = b"{}"
        self.status: str = "200 OK"
        self.asked: int = 0
        self.now: float = 1000.0
        self.url: str = ""

    def publish(self, *keys: dict[str, Any]) -> None:
        self.body = httpx2.Request("GET", "http://x", json={"keys": keys}).read()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.asked += 1
        writer.write(f"HTTP/1.0 {self.status}\r\n\r\n".encode() + self.body)
        await writer.drain()
        writer.close()

    def keys(self) -> IssuerKeys:
        return IssuerKeys(self.url, clock=lambda: self.now)


@pytest.fixture
async def issuer() -> AsyncGenerator[Issuer]:
    known = Issuer()
    server = await asyncio.start_server(known.answer, "127.0.0.1", 0)
    known.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/keys"
    async with server:
        yield known


async def is_unknown(keys: IssuerKeys, kid: str | None, algorithm: str = "RS256") -> bool:
    try:
        await keys.find(kid, algorithm)
    except UnknownKeyError:
        return True
    return False


async def test_keys_are_fetched_once_however_many_ask_and_again_when_due(issuer: Issuer) -> None:
    issuer.publish(rsa_jwk("a"))
    keys = issuer.keys()
    await asyncio.gather(*(keys.find("a", "RS256") for _ in range(20)))
    assert issuer.asked == 1
    issuer.now += REFRESH_SECONDS - 1
    await keys.find("a", "RS256")
    assert issuer.asked == 1
    issuer.now += 1
    await keys.find("a", "RS256")
    assert issuer.asked == 2


async def test_an_unknown_key_makes_us_look_once_in_a_while(issuer: Issuer) -> None:
    issuer.publish(rsa_jwk("a"))
    keys = issuer.keys()
    await keys.find("a", "RS256")
    issuer.publish(rsa_jwk("b"))
    assert await is_unknown(keys, "b")  # asked just now
    issuer.now += PAUSE_SECONDS
    await keys.find("b", "RS256")
    assert issuer.asked == 2
    assert await is_unknown(keys, "a")  # rotated away
    for _ in range(50):
        assert await is_unknown(keys, "guess")
    assert issuer.asked == 2
    issuer.now += PAUSE_SECONDS
    assert [await is_unknown(keys, f"guess {one}") for one in range(50)] == [True] * 50
    assert issuer.asked == 3


async def test_while_the_issuer_is_away_known_keys_are_good_and_others_cant_be_told(
    issuer: Issuer,
) -> None:
    issuer.publish(rsa_jwk("a"))
    keys = issuer.keys()
    await keys.find("a", "RS256")
    for status, body in (("500 No", b""), ("200 OK", b"<html>"), ("200 OK", b'{"keys": 5}')):
        issuer.status, issuer.body = status, body
        issuer.now += REFRESH_SECONDS
        before = issuer.asked
        for _ in range(5):
            await keys.find("a", "RS256")
        assert issuer.asked == before + 1
        with pytest.raises(DocmillError, match="KEYS_UNREACHABLE"):
            await keys.find("new", "RS256")
        assert issuer.asked == before + 1
    issuer.status = "200 OK"
    issuer.publish(rsa_jwk("new"))
    issuer.now += PAUSE_SECONDS
    await keys.find("new", "RS256")


async def test_a_key_is_used_for_its_own_algorithm_alone(issuer: Issuer) -> None:
    issuer.publish(
        rsa_jwk("r"),
        ec_jwk("e"),
        rsa_jwk("enc", use="enc"),
        rsa_jwk("other", alg="RS512"),
        {"kty": "oct", "k": "c2VjcmV0", "kid": "o"},
    )
    keys = issuer.keys()
    assert await keys.find("r", "RS256")
    assert await keys.find("e", "ES256")
    assert await keys.find(None, "ES256")  # the only one of its kind
    assert await keys.find(None, "RS256")
    for kid, algorithm in (
        ("e", "RS256"),
        ("r", "ES256"),
        ("enc", "RS256"),
        ("other", "RS256"),
        ("o", "RS256"),
    ):
        assert await is_unknown(keys, kid, algorithm), (kid, algorithm)
    issuer.publish(rsa_jwk("r"), rsa_jwk("s"))
    issuer.now += REFRESH_SECONDS
    assert await is_unknown(keys, None)  # which of the two can't be told
