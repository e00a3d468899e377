"""A small HTTP/1.1 client over asyncio streams: cheap enough to share two cores with a server."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

BOUNDARY: Final = "0123456789abcdef"
TAIL: Final = f"\r\n--{BOUNDARY}--\r\n".encode()
BLOCK: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    cookie: str
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One connection that is kept open, and one session."""

    def __init__(self, port: int, cookie: str = "") -> None:
        self._port: int = port
        self.cookie: str = cookie
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str) -> Answer:
        return await self._ask(f"GET {path} HTTP/1.1", [])

    async def post(self, path: str, parts: Sequence[bytes]) -> Answer:
        size = sum(len(part) for part in parts)
        kind = f"Content-Type: multipart/form-data; boundary={BOUNDARY}"
        first = f"POST {path} HTTP/1.1\r\n{kind}\r\nContent-Length: {size}"
        return await self._ask(first, parts)

    async def open(self) -> None:
        if self._streams and self._streams[0].at_eof():
            self.close()  # the server closes connections that were idle for long
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)

    def close(self) -> None:
        if self._streams:
            self._streams[1].close()
            self._streams = None

    async def _ask(self, first: str, parts: Sequence[bytes]) -> Answer:
        await self.open()
        assert self._streams is not None
        reader, writer = self._streams
        cookie = f"Cookie: docmill_session={self.cookie}\r\n" if self.cookie else ""
        writer.write(f"{first}\r\nHost: 127.0.0.1:{self._port}\r\n{cookie}\r\n".encode())
        for part in parts:
            for start in range(0, len(part), BLOCK):
                writer.write(memoryview(part)[start : start + BLOCK])
                await writer.drain()
        return await self._answer(reader)

    async def _answer(self, reader: asyncio.StreamReader) -> Answer:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status, length = int(head[0].split()[1]), 0
        for line in head[1:]:
            name, _, value = line.partition(": ")
            if name.lower() == "content-length":
                length = int(value)
            elif name.lower() == "connection" and value == "close":
                self.close()
            elif name.lower() == "set-cookie" and value.startswith("docmill_session="):
                self.cookie = value.partition("=")[2].partition(";")[0]
        return Answer(status, self.cookie, await reader.readexactly(length))


@asynccontextmanager
async def clients(port: int, count: int, cookie: str = "") -> AsyncIterator[list[Client]]:
    """So many connections, open before anything is measured."""
    opened = [Client(port, cookie) for _ in range(count)]
    try:
        await asyncio.gather(*(client.open() for client in opened))
        yield opened
    finally:
        for client in opened:
            client.close()


async def timed(ask: Awaitable[Answer]) -> tuple[float, Answer]:
    began = time.perf_counter()
    answer = await ask
    return time.perf_counter() - began, answer


async def flood(
    crowd: Sequence[Client], count: int, ask: Callable[[Client], Awaitable[Answer]]
) -> tuple[float, list[float]]:
    """Everybody asks again and again until `count` is reached; seconds in all, and of each."""
    left, took = count, list[float]()

    async def one(client: Client) -> None:
        nonlocal left
        while left > 0:
            left -= 1
            seconds, answer = await timed(ask(client))
            assert answer.status == 200, answer
            took.append(seconds)

    began = time.perf_counter()
    await asyncio.gather(*(one(client) for client in crowd))
    return time.perf_counter() - began, took


class Files:
    """Multipart bodies of PDFs of one size, every one different."""

    def __init__(self, size: int) -> None:
        opening = b"%PDF-1.7\n"
        self._filling: bytes = os.urandom(size - len(opening) - 32)
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"'
        self._head: bytes = head.encode() + b"\r\nContent-Type: application/pdf\r\n\r\n" + opening

    def body(self) -> list[bytes]:
        return [self._head + os.urandom(16).hex().encode(), self._filling, TAIL]


def named(filename: str, data: bytes) -> list[bytes]:
    """The body of one given file."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{filename}"'
    return [head.encode() + b"\r\nContent-Type: application/pdf\r\n\r\n", data, TAIL]
