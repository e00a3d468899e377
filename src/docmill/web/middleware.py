"""Which hosts a site answers for: no page of another name may speak to it through its visitors."""

import asyncio
import ipaddress
import math
import re
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from os import urandom
from typing import Any, Final, NamedTuple

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docmill import tracing
from docmill.core import log_lines
from docmill.core.faults import FAULTS, DocmillError
from docmill.db import wall
from docmill.web import error_pages, problems
from docmill.web.cors import Origins
from docmill.web.metrics import Metrics

_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:/?#@\[\]\\]+)(?::\d{0,5})?")

# Probes send the address of the machine they probe, whatever that is; the answers tell nothing
# that is anybody's. A name can be made to point at us by whoever owns it, an address cannot: so
# Prometheus, which comes by address as well, is answered at any address and not at any name.
AT_ANY_HOST: Final = frozenset({"/health", "/api/healthz", "/ready"})
AT_ANY_ADDRESS: Final = frozenset({"/metrics"})
# To listen at all addresses is no name of any.
EVERYWHERE: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104


class Hosts:
    """The names of one site: `localhost`, the loopback addresses, and those it is given."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names: frozenset[str] = (
            frozenset({"localhost", *map(_normalize_host, names)}) - EVERYWHERE
        )
        # The same few headers come again and again.
        self._find: Callable[[bytes], FoundHost] = lru_cache(maxsize=128)(self._look_up)

    def allow(self, path: str, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """`headers` as they were sent, their names in lower case."""
        if path in AT_ANY_HOST:
            return True
        sent = [value for name, value in headers if name == b"host"]
        if len(sent) != 1:
            return False
        host = self._find(sent[0])
        return host.is_ours or (host.is_address and path in AT_ANY_ADDRESS)

    def _look_up(self, header: bytes) -> "FoundHost":
        host = parse_host(header.decode("latin-1"))
        if host is None:
            return FoundHost(is_ours=False, is_address=False)
        is_ours = host in self._names or _is_loopback(host)
        return FoundHost(is_ours=is_ours, is_address=_parse_address(host) is not None)


class FoundHost(NamedTuple):
    """What is known of a Host header."""

    is_ours: bool
    is_address: bool


@lru_cache(maxsize=128)
def parse_host(header: str) -> str | None:
    """The host of a Host header, without its port."""
    found = _HOST.fullmatch(header.strip().lower())
    return found[1].strip("[]").rstrip(".") if found else None


def _normalize_host(given: str) -> str:
    """As an operator writes it: perhaps with a port, an IPv6 address perhaps without brackets."""
    bare = given.strip().lower().strip("[]")
    return bare if _parse_address(bare) else parse_host(given) or bare


@lru_cache(maxsize=128)
def _parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


@lru_cache(maxsize=128)
def _is_loopback(host: str) -> bool:
    address = _parse_address(host)
    return address is not None and address.is_loopback


log = structlog.get_logger()

# A sender starts with so much time; every byte earns a little more, never above the start. Who
# stalls or drips is out within it, a slow telephone is not.
PATIENCE: Final = 25.0
SECONDS_A_BYTE: Final = 1 / 1000

# Who answers before the end of a body reads on a little, or a client in the middle of sending gets
# a reset instead of the answer. What is small is read before the answer, so that the connection can
# be used again; with a larger body the answer comes first.
DRAIN_BYTES: Final = 7 << 20
DRAIN_SECONDS: Final = 5.0
LINGER_BYTES: Final = 12 << 20
LINGER_IDLE_SECONDS: Final = 1.0

CLIENT_GONE: Final = 499
METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
JOB_ID: Final = re.compile(r"[0-9a-f-]{36}")

CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# Of every answer that does not say otherwise itself.
USUAL_HEADERS: Final = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_USUAL: Final = [(name.encode(), value.encode()) for name, value in USUAL_HEADERS.items()]
_USUAL_NAMES: Final = frozenset(name for name, _ in _USUAL)
# Where a request's state says that its answer has more.
_ADDED: Final = frozenset({"set_cookie", "rate_limit"})


class RequestMiddleware:
    """Wraps the whole application; `under_way` are the tasks that answer requests now."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        metrics: Metrics,
        under_way: set[asyncio.Task[object]],
        hosts: Hosts,
        origins: Origins,
    ) -> None:
        self._app: ASGIApp = app
        self._origins: Origins = origins
        self._hosts: Hosts = hosts
        self._metrics: Metrics = metrics
        self._under_way: set[asyncio.Task[object]] = under_way

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        wall.enclose(None)  # until it is known who asks
        exchange = Exchange(scope, receive, send, self._origins)
        structlog.contextvars.bind_contextvars(request=exchange.request_id)
        started = time.perf_counter()
        task = asyncio.current_task()
        assert task is not None
        self._under_way.add(task)
        try:
            await (self._trace(exchange) if tracing.is_on() else self._answer(exchange))
        finally:
            self._under_way.discard(task)
            exchange.let_go()
            self._note(exchange, time.perf_counter() - started)

    async def _trace(self, exchange: "Exchange") -> None:
        """A trace that the caller has begun goes on here; probes are nobody's."""
        scope = exchange.scope
        if scope["path"] in AT_ANY_HOST | AT_ANY_ADDRESS:
            await self._answer(exchange)
            return
        parent = exchange.headers.get(tracing.HEADER)
        with tracing.span("request", "server", parent=parent) as span:
            await self._answer(exchange)
            facts = exchange.facts()
            span.rename(f"{facts['method']} {facts['route']}")
            told = {name: facts[name] for name in ("request", "method", "route", "job")}
            span.say(**told, status=exchange.status)

    async def _answer(self, exchange: "Exchange") -> None:
        scope = exchange.scope
        if not self._hosts.allow(scope["path"], scope["headers"]):
            await exchange.refuse("WRONG_HOST")
            return
        if scope["method"] == "OPTIONS" and (
            preflight := self._origins.answer_preflight(scope["method"], exchange.headers)
        ):
            await preflight(scope, exchange.receive, exchange.send)
            return
        try:
            await self._app(scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            await self._answer_half_closed(exchange)
        except Exception as exc:
            stack = traceback.format_exc()
            log.error("request.broke", error=type(exc).__name__, stack=stack, **exchange.facts())
            if exchange.status:
                raise  # the server cuts the connection, so that nobody takes a part for the whole
            answer = await error_pages.show_broken(Request(scope))
            await answer(scope, exchange.receive, exchange.send)

    async def _answer_half_closed(self, exchange: "Exchange") -> None:
        """A body that ends before its end: who only stopped sending still reads the answer."""
        if not exchange.status:
            await exchange.refuse("BAD_REQUEST")
            exchange.status = CLIENT_GONE

    def _note(self, exchange: "Exchange", seconds: float) -> None:
        facts = exchange.facts()
        self._metrics.note_request(facts, status=exchange.status, seconds=seconds)
        facts |= exchange.state.get("fault", {})
        facts |= {"status": exchange.status, "ms": round(seconds * 1000, 1)}
        if not log_lines.write_fact("request.answered", facts):
            log.info("request.answered", **facts)


class Exchange:
    """One request and its answer, watched while they pass."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, origins: Origins) -> None:
        self.scope: Scope = scope
        self._origins: Origins = origins
        self.request_id: str = make_request_id()
        self.state: dict[str, Any] = scope.setdefault("state", {})
        self.state["request_id"] = self.request_id
        self.state["is_allowed_origin"] = origins.any and origins.allow(self.headers)
        self.status: int = 0
        self._receive: Receive = receive
        self._send: Send = send
        sent = dict(scope["headers"])
        self._declared: float = _declared_length(sent)
        self._unread: bool = self._declared > 0
        # Such a client sends its body only when we begin to read it.
        self._waits: bool = sent.get(b"expect") == b"100-continue"
        self._until: float = time.monotonic() + PATIENCE

    @property
    def headers(self) -> Headers:
        """Made when they are asked for, which few requests do."""
        return Headers(scope=self.scope)

    def facts(self) -> dict[str, Any]:
        """For logs and metrics: the route's template, not the address, which may hold anything."""
        route = self.scope.get("route")
        path = getattr(route, "path", None) or "other"
        method: str = self.scope["method"]
        job_id = str(self.scope.get("path_params", {}).get("job_id", ""))
        made: list[str] = self.state.get("jobs", [])
        return {
            "request": self.request_id,
            "method": method if method in METHODS else "OTHER",
            "route": path,
            "owner": self.state.get("owner"),
            "key": self.state.get("by_key"),
            "job": job_id if JOB_ID.fullmatch(job_id) else made[0] if len(made) == 1 else None,
            "jobs": made if len(made) > 1 else None,
        }

    async def refuse(self, code: str) -> None:
        """Answer here, before or instead of the application."""
        self.state["fault"] = {"code": code}
        response = problems.problem_response(FAULTS[code], request_id=self.request_id)
        await response(self.scope, self.receive, self.send)

    def let_go(self) -> None:
        """Whoever still holds us, say an exception's frames, no longer holds the connection.

        Granian closes a connection whose body was not read when the last reference goes.
        """
        self._receive, self._send = _receive_disconnect, _send_nowhere

    async def receive(self) -> Message:
        if not self._unread:
            return await self._receive()
        self._waits = False
        left = self._until - time.monotonic()
        try:
            async with asyncio.timeout(max(left, 0)):
                message = await self._receive()
        except TimeoutError as exc:
            raise DocmillError("TOO_SLOW", "the body stalled") from exc
        self._unread = message["type"] == "http.request" and message.get("more_body", False)
        earned = len(message.get("body", b"")) * SECONDS_A_BYTE
        self._until = min(self._until + earned, time.monotonic() + PATIENCE)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if self._unread and self._declared <= DRAIN_BYTES:
                await self._drain(DRAIN_BYTES, DRAIN_SECONDS)
            self.status = message["status"]
            self._dress(message)
        elif self._unread and not self._waits and not message.get("more_body", False):
            # All of the answer is on its way; only its end waits until the body has been drained.
            await self._send({**message, "more_body": True})
            await self._drain(LINGER_BYTES, LINGER_IDLE_SECONDS)
            message = {"type": "http.response.body", "body": b""}
        await self._send(message)

    async def _drain(self, most: int, idle: float) -> None:
        """Read on: so many bytes, for DRAIN_SECONDS, and no longer than nothing comes."""
        if self._waits:
            return
        hard_stop = min(self._until, time.monotonic() + DRAIN_SECONDS)
        while self._unread and most > 0 and time.monotonic() < hard_stop:
            self._until = min(hard_stop, time.monotonic() + idle)
            try:
                message = await self.receive()
            except DocmillError:
                return
            most -= len(message.get("body", b""))

    def _dress(self, message: Message) -> None:
        raw: list[tuple[bytes, bytes]] = list(message["headers"])
        said = {name for name, _ in raw}
        if said.isdisjoint(_USUAL_NAMES):
            raw += _USUAL
        else:
            raw += [usual for usual in _USUAL if usual[0] not in said]
        raw.append((b"x-request-id", self.request_id.encode()))
        message["headers"] = raw
        if self._origins.any or self._unread or not _ADDED.isdisjoint(self.state):
            self._add(MutableHeaders(raw=raw))

    def _add(self, headers: MutableHeaders) -> None:
        """What not every answer has."""
        if self._origins.any:
            self._origins.dress(self.headers, headers)
        if cookie := self.state.get("set_cookie"):
            headers.append("set-cookie", cookie)
        headers.update(self.state.get("rate_limit", {}))
        if self._unread:
            headers["connection"] = "close"
            if not self._waits:
                # With its length known the server would close as soon as that much was sent.
                del headers["content-length"]


async def _receive_disconnect() -> Message:
    return {"type": "http.disconnect"}


async def _send_nowhere(_: Message) -> None: ...


# Of a UUID's seventeenth digit two bits say which kind of UUID it is.
_VARIANTS: Final = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


def make_request_id() -> str:
    """A random UUID as text; `uuid.uuid4` takes longer than all that is done with it."""
    drawn = urandom(16).hex()
    variant = _VARIANTS[drawn[16]]
    return f"{drawn[:8]}-{drawn[8:12]}-4{drawn[13:16]}-{variant}{drawn[17:20]}-{drawn[20:]}"


def _declared_length(sent: Mapping[bytes, bytes]) -> float:
    """How many bytes the body has, by its headers: infinity where they don't say."""
    if b"transfer-encoding" in sent:
        return math.inf
    length = sent.get(b"content-length", b"0")
    return int(length) if length.isdigit() else math.inf
