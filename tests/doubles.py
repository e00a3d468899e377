"""Doubles of services that cost money: on a real socket, in their protocol, with moods to order.

`double.next("POST", answer(...))` is said instead to the next request of that method, `when` to the
first that fits; HANG lets it wait until the test is over, bytes that end too early cut it off.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import parse_qs, urlsplit

from speakers import answer

HANG: Final = b"\0hang"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Double(ABC):
    """Answers by `respond`; everything it was asked is in `asked`."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[Asked] = []
        self.hanging = asyncio.Event()
        self._over = asyncio.Event()
        self._moods: list[tuple[Callable[[Asked], bool], bytes]] = []

    @abstractmethod
    def respond(self, asked: Asked) -> bytes: ...

    def next(self, method: str, *says: bytes) -> None:
        for one in says:
            self.when(lambda asked: asked.method == method, one)

    def when(self, fits: Callable[[Asked], bool], says: bytes) -> None:
        self._moods.append((fits, says))

    def release(self) -> None:
        """Whoever hangs is let go, without an answer."""
        self._over.set()

    def count(self, method: str) -> int:
        return sum(one.method == method for one in self.asked)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            asked = await _heard(reader)
            self.asked.append(asked)
            mood = next((mood for mood in self._moods if mood[0](asked)), None)
            if mood:
                self._moods.remove(mood)
            says = mood[1] if mood else self.respond(asked)
            if says == HANG:
                self.hanging.set()
                await self._over.wait()
            else:
                writer.write(says)
            writer.close()
            await writer.wait_closed()


async def _heard(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    parts = urlsplit(target)
    query = {name: ",".join(values) for name, values in parse_qs(parts.query).items()}
    return Asked(method, parts.path, query, headers, body)


def told(status: str, body: Any, **headers: str) -> bytes:
    return answer(status, json.dumps(body).encode(), **headers)


D = TypeVar("D", bound=Double)


@asynccontextmanager
async def doubling(double: D) -> AsyncGenerator[D]:
    server = await asyncio.start_server(double.serve, "127.0.0.1", 0)
    double.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield double
    finally:
        double.release()
        server.close()
        await server.wait_closed()
