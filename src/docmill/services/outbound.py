"""Requests to addresses that people name: to the public internet alone, unless a setting says more.

A name is resolved once, every address it has is checked, and the connection goes to one of those
that were checked: a name that changes its address in between (DNS rebinding) gains nothing.
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Self

import httpx2

from docmill.core.faults import DocmillError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], Awaitable[list[str]]]

PORTS: Final = {"http": 80, "https": 443}
# Where web servers listen; others are databases, mail and the like.
WEB_PORTS: Final = frozenset({80, 443, 8080, 8443})
LAST_PORT: Final = 65_535
RESOLVE_SECONDS: Final = 5.0
CONNECT_SECONDS: Final = 5.0
# A name may have many addresses; a dead server is known by its first ones.
MOST_ADDRESSES: Final = 3
LONGEST_URL: Final = 2000

# The IANA registries of special addresses, and clouds' services for the machines they run.
NOT_PUBLIC: Final = tuple(
    ipaddress.ip_network(each)
    for each in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",
        "2001::/23",
        "2001:db8::/32",
        "2002::/16",
        "3fff::/20",
    )
)
# All that is public of IPv6. Mapped and translated IPv4 (::ffff:0:0/96, 64:ff9b::/96) is not in it.
PUBLIC_V6: Final = ipaddress.IPv6Network("2000::/3")
# IPv4 inside IPv6 by ISATAP: the last 64 bits begin with one of these.
ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})

_STRANGE: Final = re.compile(r"[^\x21-\x7e]|\\")
# `127.1`, `0x7f.0.0.1`, `2130706433`: numbers that some read as an address, and others do not.
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OutboundRules:
    """What may be reached besides the public internet, and the setting that says so.

    - `allow`: networks; in them every port is allowed, and plain http.
    - `plain`: whether http, which anybody on the way can read, is allowed to public addresses.
    """

    setting: str
    allow: tuple[Network, ...] = ()
    plain: bool = False


def read_rules(setting: str, networks: Iterable[str], *, plain: bool = False) -> OutboundRules:
    allow = tuple(ipaddress.ip_network(each, strict=False) for each in networks)
    return OutboundRules(setting, allow, plain)


@dataclass(frozen=True, slots=True)
class Target:
    """An address that was checked: where to connect, and what to say there."""

    url: httpx2.URL
    addresses: tuple[Address, ...]

    def locate(self, address: Address) -> httpx2.URL:
        return self.url.copy_with(host=str(address))


async def resolve_name(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


async def check_url(text: str, rules: OutboundRules, resolve: Resolve = resolve_name) -> Target:
    """Raises URL_REFUSED, with the reason in a sentence."""
    url = _parse_url(text)
    port = PORTS[url.scheme] if url.port is None else url.port
    addresses = await _find_addresses(url, port, resolve)
    allowed = [_is_in(address, rules.allow) for address in addresses]
    for address, is_allowed in zip(addresses, allowed, strict=True):
        if not is_allowed and not is_public(address):
            raise _refuse(
                f"{url.host} is at {address}, which is not a public address. "
                f"An operator can allow its network with {rules.setting}."
            )
    if not all(allowed):
        _check_public_use(url, port, rules)
    return Target(url, addresses)


def _check_public_use(url: httpx2.URL, port: int, rules: OutboundRules) -> None:
    if url.scheme == "http" and not rules.plain:
        raise _refuse("Plain http can be read on the way: use https.")
    if port not in WEB_PORTS:
        raise _refuse(
            f"Port {port} is not one of web servers ({', '.join(map(str, sorted(WEB_PORTS)))})."
        )


def _parse_url(text: str) -> httpx2.URL:
    """By the parser that the request goes by, so that nobody reads the address differently."""
    if len(text) > LONGEST_URL:
        raise _refuse(f"It has more than {LONGEST_URL} characters.")
    if _STRANGE.search(text):
        raise _refuse("It has a space, a backslash or a character that addresses do not have.")
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL as exc:
        raise _refuse("It is not an address like https://example.com/path.") from exc
    if url.scheme not in PORTS:
        raise _refuse("It must begin with https://.")
    _check_server(url)
    return url


def _check_server(url: httpx2.URL) -> None:
    if url.port is not None and not 0 < url.port <= LAST_PORT:
        raise _refuse(f"There is no port {url.port}.")
    if url.userinfo:
        raise _refuse("A name or password must not stand in it.")
    host = url.raw_host.decode("ascii")
    if not host or "%" in host:
        raise _refuse("It names no server.")
    last = host.rstrip(".").rpartition(".")[2]
    if _NUMBER.fullmatch(last) and _read_address(host) is None:
        raise _refuse("An IPv4 address has four plain numbers, such as 192.0.2.7.")


async def _find_addresses(url: httpx2.URL, port: int, resolve: Resolve) -> tuple[Address, ...]:
    host = url.raw_host.decode("ascii")
    if address := _read_address(host):
        return (address,)
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            found = await resolve(host, port)
    except (OSError, UnicodeError) as exc:
        raise _refuse(f"No server is known by the name {url.host}.") from exc
    addresses = tuple(filter(None, map(_read_address, found)))
    if not addresses or len(addresses) < len(found):
        raise _refuse(f"No server is known by the name {url.host}.")
    return addresses


def _read_address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    if _is_in(address, NOT_PUBLIC):
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return True
    return address in PUBLIC_V6 and (int(address) >> 32 & 0xFFFF_FFFF) not in ISATAP


def _is_in(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in each for each in networks if each.version == address.version)


def _refuse(reason: str) -> DocmillError:
    return DocmillError("URL_REFUSED", reason, reason=reason)


class OutboundClient:
    """Use as a context manager; any number of requests at a time, each on its own connection.

    A kept connection would be found by its address alone, whatever name it was opened for.
    Redirects are not followed, a proxy of the environment is not asked.
    """

    def __init__(
        self, rules: OutboundRules, *, timeout: timedelta, resolve: Resolve = resolve_name
    ) -> None:
        self.rules: OutboundRules = rules
        self._resolve: Resolve = resolve
        self._http: httpx2.AsyncClient = httpx2.AsyncClient(
            timeout=httpx2.Timeout(timeout.total_seconds(), connect=CONNECT_SECONDS),
            limits=httpx2.Limits(max_keepalive_connections=0),
            follow_redirects=False,
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def check(self, url: str) -> Target:
        return await check_url(url, self.rules, self._resolve)

    @asynccontextmanager
    async def stream(
        self, method: str, url: str, *, headers: Mapping[str, str], content: bytes = b""
    ) -> AsyncGenerator[httpx2.Response]:
        """The answer, to be read raw. Raises URL_REFUSED, or what httpx2 raises."""
        target = await self.check(url)
        answer = await self._send(target, method, headers, content)
        try:
            yield answer
        finally:
            await answer.aclose()

    async def _send(
        self, target: Target, method: str, headers: Mapping[str, str], content: bytes
    ) -> httpx2.Response:
        """To the first of its addresses that takes a connection."""
        told = {
            "host": target.url.netloc.decode("ascii"),
            "accept-encoding": "identity",
            "connection": "close",
            **headers,
        }
        failure: httpx2.TransportError | None = None
        for address in target.addresses[:MOST_ADDRESSES]:
            request = self._http.build_request(
                method,
                target.locate(address),
                headers=told,
                content=content or None,
                extensions={"sni_hostname": target.url.raw_host.decode("ascii")},
            )
            try:
                return await self._http.send(request, stream=True)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as exc:
                failure = exc
        assert failure is not None
        raise failure
