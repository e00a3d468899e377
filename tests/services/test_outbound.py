"""Addresses that people name: 60 that lead inside are refused, and a name is resolved once."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

import pytest

from docmill.core.faults import DocmillError
from docmill.services import outbound
from docmill.services.outbound import OutboundClient, OutboundRules, check_url, read_rules

pytestmark = pytest.mark.anyio

RULES: Final = OutboundRules("DOCMILL_WEBHOOK_ALLOW")
HERE: Final = read_rules("DOCMILL_WEBHOOK_ALLOW", ["127.0.0.0/8"])
PUBLIC: Final = "93.184.215.14"
PUBLIC_V6: Final = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"

# What names resolve to here; a test must not depend on a name server.
NAMES: Final[dict[str, list[str]]] = {
    "example.com": [PUBLIC, PUBLIC_V6],
    "localhost": ["127.0.0.1", "::1"],
    "localhost.": ["127.0.0.1"],
    "intranet": ["10.1.2.3"],
    "private.example.com": ["192.168.1.10"],
    "half.example.com": [PUBLIC, "10.0.0.5"],
    "half6.example.com": [PUBLIC, "::1"],
    "mapped.example.com": ["::ffff:10.0.0.5"],
    "metadata.google.internal": ["169.254.169.254"],
    "127.0.0.1.nip.example": ["127.0.0.1"],
    "shared.example.com": ["100.64.3.4"],
    "nothing.example.com": [],
}

INSIDE: Final = (
    # this machine and its networks
    "https://127.0.0.1/", "https://127.255.255.254/", "https://0.0.0.0/", "https://0.1.2.3/",
    "https://10.0.0.1/", "https://172.16.0.1/", "https://172.31.255.255/", "https://192.168.0.1/",
    "https://100.64.0.1/", "https://100.127.255.255/", "https://169.254.0.1/",
    "https://192.0.0.1/", "https://198.18.0.1/", "https://198.19.255.255/",
    # for documents, for many, for nobody
    "https://192.0.2.1/", "https://198.51.100.7/", "https://203.0.113.9/", "https://192.88.99.1/",
    "https://224.0.0.1/", "https://239.255.255.255/", "https://240.0.0.1/",
    "https://255.255.255.255/",
    # what clouds tell the machines they run
    "http://169.254.169.254/latest/meta-data/", "https://169.254.169.254/",
    "https://100.100.100.200/", "https://168.63.129.16/", "https://192.0.0.192/",
    "https://[fd00:ec2::254]/", "https://metadata.google.internal/computeMetadata/v1/",
    # IPv6, and IPv4 hidden in it
    "https://[::1]/", "https://[::]/", "https://[fe80::1]/", "https://[fc00::1]/",
    "https://[fd12:3456::1]/", "https://[ff02::1]/", "https://[2001:db8::1]/",
    "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://[::127.0.0.1]/",
    "https://[2002:7f00:1::]/", "https://[2002:a00:1::1]/", "https://[64:ff9b::7f00:1]/",
    "https://[64:ff9b:1::a00:1]/", "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "https://[2606:2800:21f:cb07:0:5efe:10.0.0.1]/", "https://[fe80::1%25eth0]/",
    # numbers that only some read as an address
    "https://2130706433/", "https://0x7f000001/", "https://0x7f.0.0.1/", "https://0177.0.0.1/",
    "https://127.1/", "https://127.0.1/", "https://017700000001/", "https://127.0.0.1./",
    # names
    "https://localhost/", "https://localhost./", "https://LOCALHOST/", "https://intranet/",
    "https://private.example.com/", "https://half.example.com/", "https://half6.example.com/",
    "https://mapped.example.com/", "https://127.0.0.1.nip.example/", "https://shared.example.com/",
    "https://nothing.example.com/", "https://unknown.example.com/",
    # odd schemes, ports, credentials and characters
    "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "example.com",
    "javascript:alert(1)", "http://example.com/", "https://example.com:22/",
    "https://example.com:5432/", "https://example.com:0/", "https://example.com:99999/",
    "https://user:secret@example.com/", "https://example.com@127.0.0.1/",
    "https://127.0.0.1\\@example.com/", "https://example.com /", "https://exa\tmple.com/",
    "https://①②⑦.⓪.⓪.①/", "https:///path", "https://", "",
)  # fmt: skip


async def resolve(host: str, _port: int) -> list[str]:
    if host.lower() not in NAMES:
        raise OSError("no such name")
    return NAMES[host.lower()]


def test_there_are_sixty_targets_and_more() -> None:
    assert len(set(INSIDE)) == len(INSIDE) >= 60


@pytest.mark.parametrize("url", INSIDE)
async def test_an_address_that_leads_inside_is_refused(url: str) -> None:
    with pytest.raises(DocmillError) as refused:
        await check_url(url, RULES, resolve)
    assert refused.value.fault.code == "URL_REFUSED"
    assert refused.value.reason.endswith(".")


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/hook?a=1",
        "https://EXAMPLE.com:8443/",
        f"https://{PUBLIC}/",
        f"https://[{PUBLIC_V6}]/",
    ],
)
async def test_a_public_address_is_taken(url: str) -> None:
    target = await check_url(url, RULES, resolve)
    assert {str(each) for each in target.addresses} <= {PUBLIC, PUBLIC_V6}


async def test_a_refusal_names_the_setting_that_would_allow_it() -> None:
    with pytest.raises(DocmillError) as refused:
        await check_url("http://localhost:9000/", RULES, resolve)
    assert "DOCMILL_WEBHOOK_ALLOW" in refused.value.reason


async def test_an_allowed_network_may_be_reached_on_any_port_and_its_neighbours_not() -> None:
    allowed = read_rules("DOCMILL_WEBHOOK_ALLOW", ["10.1.0.0/16"])
    assert (await check_url("http://intranet:9000/", allowed, resolve)).url.port == 9000
    for url in ("http://10.2.0.1/", "http://127.0.0.1/", "https://[::ffff:10.1.2.3]/"):
        with pytest.raises(DocmillError):
            await check_url(url, allowed, resolve)
    with pytest.raises(DocmillError):  # one of its two addresses is not allowed
        await check_url("http://half.example.com:9000/", allowed, resolve)


class Receiver:
    """A plain server that notes what it was sent, and answers the same to everybody."""

    def __init__(self, answer: bytes) -> None:
        self.answer: bytes = answer
        self.heads: list[str] = []
        self.port: int = 0

    async def receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head.decode())
        writer.write(self.answer)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def receiving(answer: bytes) -> AsyncGenerator[Receiver]:
    receiver = Receiver(answer)
    server = await asyncio.start_server(receiver.receive, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    async with server:
        yield receiver


OK: Final = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


async def test_a_name_is_resolved_once_and_the_checked_address_is_connected_to() -> None:
    """A name server that says something else the second time is never asked a second time."""
    asked: list[str] = []

    async def rebind(host: str, _port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["10.0.0.1"]

    async with receiving(OK) as receiver:
        client = OutboundClient(HERE, timeout=timedelta(minutes=1), resolve=rebind)
        url = f"http://rebind.example.com:{receiver.port}/hook"
        async with client, client.stream("POST", url, headers={}, content=b"{}") as answer:
            assert answer.status_code == 200
        assert asked == ["rebind.example.com"]
        assert f"host: rebind.example.com:{receiver.port}\r\n" in receiver.heads[0].lower()


async def test_a_name_that_turns_private_between_two_requests_is_refused() -> None:
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])

    async def rebind(_host: str, _port: int) -> list[str]:
        return next(answers)

    async with receiving(OK) as receiver:
        client = OutboundClient(HERE, timeout=timedelta(minutes=1), resolve=rebind)
        url = f"http://rebind.example.com:{receiver.port}/hook"
        async with client:
            async with client.stream("POST", url, headers={}, content=b"{}"):
                pass
            with pytest.raises(DocmillError, match="URL_REFUSED"):
                async with client.stream("POST", url, headers={}, content=b"{}"):
                    pass
        assert len(receiver.heads) == 1


async def test_a_redirect_is_not_followed() -> None:
    async with receiving(OK) as inside:
        away = f"HTTP/1.1 307 Away\r\nlocation: http://127.0.0.1:{inside.port}/\r\n\r\n"
        async with receiving(away.encode()) as receiver:
            client = OutboundClient(HERE, timeout=timedelta(minutes=1))
            url = f"http://127.0.0.1:{receiver.port}/"
            async with client, client.stream("POST", url, headers={}, content=b"{}") as answer:
                assert answer.status_code == 307
        assert not inside.heads


async def test_a_proxy_of_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving(OK) as proxy, receiving(OK) as receiver:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{proxy.port}")
        client = OutboundClient(HERE, timeout=timedelta(minutes=1))
        url = f"http://127.0.0.1:{receiver.port}/"
        async with client, client.stream("GET", url, headers={}):
            pass
        assert not proxy.heads
        assert receiver.heads


def test_the_first_and_the_last_address_of_a_refused_network_are_refused() -> None:
    for network in outbound.NOT_PUBLIC:
        assert not outbound.is_public(network[0])
        assert not outbound.is_public(network[-1])
