"""The outermost layer: request ids, log lines, security headers, slow senders, the last resort.

Plain ASGI, so that bodies stream through it with the server's own backpressure.
"""

import asyncio
import re
import time
import traceback
from typing import Any, Final
from uuid import uuid4

import structlog
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docmill.core.faults import FAULTS, Faulted
from docmill.web import problems
from docmill.web.metrics import Meters

log = structlog.get_logger()

# A sender starts with so much time; every byte earns a little more, never above the start. Who
# stalls or drips is out within it, a slow telephone is not.
PATIENCE: Final = 25.0
SECONDS_A_BYTE: Final = 1 / 1000

# Who answers before the end of a body reads on a little, or a client in the middle of sending gets
# a reset instead of the answer.
DRAIN_BYTES: Final = 7 << 20
DRAIN_SECONDS: Final = 5.0

CLIENT_GONE: Final = 499
METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
JOB_ID: Final = re.compile(r"[0-9a-f-]{36}")

CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Edge:
    """Wraps the whole application; `under_way` are the tasks that answer requests now."""

    def __init__(self, app: ASGIApp, meters: Meters, under_way: set[asyncio.Task[object]]) -> None:
        self._app: ASGIApp = app
        self._meters: Meters = meters
        self._under_way: set[asyncio.Task[object]] = under_way

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = Exchange(scope, receive, send)
        started = time.perf_counter()
        task = asyncio.current_task()
        assert task is not None
        self._under_way.add(task)
        try:
            await self._answer(exchange)
        finally:
            self._under_way.discard(task)
            exchange.let_go()
            self._note(exchange, time.perf_counter() - started)

    async def _answer(self, exchange: "Exchange") -> None:
        try:
            await self._app(exchange.scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            exchange.status = exchange.status or CLIENT_GONE
        except Exception as exc:
            stack = traceback.format_exc()
            log.error("request.broke", error=type(exc).__name__, stack=stack, **exchange.facts())
            if exchange.status:
                raise  # the server cuts the connection, so that nobody takes a part for the whole
            response = problems.answer(FAULTS["UNKNOWN"], request_id=exchange.request_id)
            await response(exchange.scope, exchange.receive, exchange.send)

    def _note(self, exchange: "Exchange", seconds: float) -> None:
        facts = exchange.facts()
        self._meters.requests.labels(facts["method"], facts["route"], str(exchange.status)).observe(
            seconds
        )
        facts |= exchange.state.get("fault", {})
        log.info("request.answered", status=exchange.status, ms=round(seconds * 1000, 1), **facts)


class Exchange:
    """One request and its answer, watched while they pass."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope: Scope = scope
        self.request_id: str = str(uuid4())
        self.state: dict[str, Any] = scope.setdefault("state", {})
        self.state["request_id"] = self.request_id
        self.status: int = 0
        self._receive: Receive = receive
        self._send: Send = send
        self._unread: bool = _has_body(scope)
        # Such a client sends its body only when we begin to read it.
        self._waits: bool = (b"expect", b"100-continue") in scope["headers"]
        self._until: float = time.monotonic() + PATIENCE

    def facts(self) -> dict[str, Any]:
        """For logs and metrics: the route's template, not the address, which may hold anything."""
        route = self.scope.get("route")
        path = getattr(route, "path", None) or "other"
        method: str = self.scope["method"]
        job_id = str(self.scope.get("path_params", {}).get("job_id", ""))
        return {
            "request": self.request_id,
            "method": method if method in METHODS else "OTHER",
            "route": path,
            "owner": self.state.get("owner"),
            "job": job_id if JOB_ID.fullmatch(job_id) else None,
        }

    def let_go(self) -> None:
        """Whoever still holds us, say an exception's frames, no longer holds the connection.

        Granian closes a connection whose body was not read when the last reference goes.
        """
        self._receive, self._send = _gone, _nowhere

    async def receive(self) -> Message:
        if not self._unread:
            return await self._receive()
        self._waits = False
        left = self._until - time.monotonic()
        try:
            async with asyncio.timeout(max(left, 0)):
                message = await self._receive()
        except TimeoutError as exc:
            raise Faulted("TOO_SLOW", "the body stalled") from exc
        self._unread = message["type"] == "http.request" and message.get("more_body", False)
        earned = len(message.get("body", b"")) * SECONDS_A_BYTE
        self._until = min(self._until + earned, time.monotonic() + PATIENCE)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._drain()
            self.status = message["status"]
            self._dress(MutableHeaders(scope=message))
        await self._send(message)

    async def _drain(self) -> None:
        if self._waits:
            return
        taken = 0
        self._until = min(self._until, time.monotonic() + DRAIN_SECONDS)
        hard_stop = self._until
        while self._unread and taken < DRAIN_BYTES and time.monotonic() < hard_stop:
            try:
                message = await self.receive()
            except Faulted:
                return
            taken += len(message.get("body", b""))

    def _dress(self, headers: MutableHeaders) -> None:
        for name, value in HEADERS.items():
            headers.setdefault(name, value)
        headers.setdefault("cache-control", "no-store")
        headers["x-request-id"] = self.request_id
        if cookie := self.state.get("set_cookie"):
            headers.append("set-cookie", cookie)
        if self._unread:
            headers["connection"] = "close"


async def _gone() -> Message:
    return {"type": "http.disconnect"}


async def _nowhere(_: Message) -> None: ...


def _has_body(scope: Scope) -> bool:
    for name, value in scope["headers"]:
        if name == b"transfer-encoding" or (name == b"content-length" and value != b"0"):
            return True
    return False
