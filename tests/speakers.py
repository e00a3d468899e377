"""HTTP servers on real sockets that say, byte by byte, what a test wrote for them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


def answer(
    status: str, body: bytes = b"{}", kind: str = "application/json", **headers: str
) -> bytes:
    lines = [
        f"HTTP/1.1 {status}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass(slots=True)
class Speaker:
    """Reads a request to its end, says the next of its answers, the last one ever after."""

    says: list[bytes]
    hangs: bool = False
    url: str = ""
    heard: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
        self.heard.append((head, await reader.readexactly(int(length))))
        writer.write(self.says.pop(0) if len(self.says) > 1 else self.says[0])
        if self.hangs:
            await self.over.wait()
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def speaking(*says: bytes, hangs: bool = False) -> AsyncGenerator[Speaker]:
    speaker = Speaker([*says], hangs)
    server = await asyncio.start_server(speaker.serve, "127.0.0.1", 0)
    speaker.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield speaker
    finally:
        speaker.over.set()
        server.close()
        await server.wait_closed()
