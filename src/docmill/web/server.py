"""Serves the application inside the running event loop, on a socket of our own."""

import asyncio
import errno
import socket
from collections.abc import Callable
from typing import Any, Final

from fastapi import FastAPI
from granian import net
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server

from docmill.core.faults import CommandError
from docmill.web.site import Site

# Headers must be complete within this time; a connection that says nothing is closed as well.
HEADER_MS: Final = 20_000
BACKLOG: Final = 2048
# Connections beyond this wait unaccepted. Each open event stream counts as one.
CONNECTIONS: Final = 16_384
GRACE_SECONDS: Final = 10.0
GIVE_UP_SECONDS: Final = 2.0


# The stubs know neither its constructor nor that it is public.
Holder: Final[Any] = net.SocketHolder  # pyright: ignore[reportPrivateImportUsage]


class ServeError(CommandError):
    """The address cannot be had."""


class OwnSocketServer(Server):
    """Granian itself binds with SO_REUSEPORT: never a clash, and no way to tell the port."""

    def __init__(self, app: FastAPI, listener: socket.socket, **options: Any) -> None:
        super().__init__(app, **options)
        self._listener: socket.socket = listener

    def _init_shared_socket(self) -> None:
        # Granian closes the descriptor when it stops, so it is taken from Python's hands.
        self._shd: Any = Holder(self._listener.detach(), False, BACKLOG)


async def serve(
    app: FastAPI, host: str, port: int, *, ready: Callable[[int], None] | None = None
) -> None:
    """Serve until cancelled; then let answers under way finish, for a while. Port 0: a free one."""
    await serve_on(app, bind(host, port), ready=ready)


async def serve_on(
    app: FastAPI, listener: socket.socket, *, ready: Callable[[int], None] | None = None
) -> None:
    """The same on a socket that listens already, which is closed at the end.

    Cancelled a second time, it cuts short what is under way.
    """
    host, bound = listener.getsockname()[:2]
    async with app.router.lifespan_context(app):
        server = OwnSocketServer(
            app,
            listener,
            address=host,
            port=bound,
            interface=Interfaces.ASGINL,
            http=HTTPModes.http1,
            websockets=False,
            backlog=BACKLOG,
            backpressure=CONNECTIONS,
            http1_settings=HTTP1Settings(header_read_timeout=HEADER_MS),
            log_enabled=False,
        )
        serving = asyncio.create_task(server.serve())
        if ready:
            ready(bound)
        try:
            await asyncio.shield(serving)
        finally:
            await _stop(app, server, serving)


async def _stop(app: FastAPI, server: Server, serving: asyncio.Task[None]) -> None:
    site: Site | None = getattr(app.state, "site", None)
    if site:
        site.close()
    server.stop()
    try:
        await asyncio.wait({serving}, timeout=GRACE_SECONDS)
    finally:
        for task in list(site.under_way) if site else ():
            task.cancel()
        await asyncio.wait({serving}, timeout=GIVE_UP_SECONDS)
        serving.cancel()
        await asyncio.wait({serving})


def bind(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as exc:
        raise ServeError(f"No such address: {host} ({exc})\nCheck DOCMILL_HOST.") from exc
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as exc:
        listener.close()
        raise ServeError(_explain_bind_error(exc, host, port)) from exc
    return listener


def _explain_bind_error(exc: OSError, host: str, port: int) -> str:
    if exc.errno == errno.EADDRINUSE:
        return f"Port {port} of {host} is taken.\nStop what uses it, or choose another with --port."
    if exc.errno == errno.EACCES:
        return f"Port {port} needs rights this user lacks.\nChoose one above 1023 with --port."
    return f"Can't listen on {host}:{port}: {exc.strerror}\nCheck DOCMILL_HOST and DOCMILL_PORT."
