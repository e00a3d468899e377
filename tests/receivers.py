"""A server that receives webhooks: it answers by a plan and checks signatures as receivers do."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from standardwebhooks import Webhook as Verifier


@dataclass(frozen=True, slots=True)
class Received:
    headers: dict[str, str]
    body: bytes

    def verify(self, secret: str) -> dict[str, Any]:
        """What it says, or an error of the published library."""
        return Verifier(secret).verify(self.body, self.headers)

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def told(self) -> dict[str, Any]:
        return json.loads(self.body)


@dataclass(slots=True)
class HookReceiver:
    """`answer(number)` is the whole answer to the request of that number, from 0 on."""

    answer: Callable[[int], bytes]
    port: int = 0
    received: list[Received] = field(default_factory=list[Received])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        pairs = (line.partition(": ") for line in head[1:] if line)
        headers = {name.lower(): value for name, _, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        number = len(self.received)
        self.received.append(Received(headers, body))
        writer.write(self.answer(number))
        await writer.drain()
        writer.close()


def reply(status: int, body: str = "", **headers: str) -> bytes:
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = [f"HTTP/1.1 {status} Word", f"content-length: {len(body.encode())}", *lines]
    return ("\r\n".join(head) + "\r\n\r\n" + body).encode()


@asynccontextmanager
async def receiving(*statuses: int) -> AsyncGenerator[HookReceiver]:
    """It answers with these, the last of them for ever."""

    def answer(number: int) -> bytes:
        return reply(statuses[min(number, len(statuses) - 1)], "an answer")

    async with receiving_by(answer) as receiver:
        yield receiver


@asynccontextmanager
async def receiving_by(answer: Callable[[int], bytes]) -> AsyncGenerator[HookReceiver]:
    receiver = HookReceiver(answer)
    server = await asyncio.start_server(receiver.receive, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    async with server:
        yield receiver
